#include "grouped_vs_standard/report/finding.h"

#include <algorithm>
#include <set>

#include "tutti/core/error.h"

namespace comparison {

std::vector<std::pair<std::string, std::string>> picture_files(const Report& report) {
  std::vector<std::pair<std::string, std::string>> files;
  std::set<std::string> ids;
  const auto take = [&](const std::vector<Picture>& pictures) {
    for (const Picture& p : pictures) {
      if (!ids.insert(id_of(p)).second)
        throw tutti::ValueError(tutti::message("report: two pictures have the id '", id_of(p), "'; each names a file"));
      files.emplace_back(id_of(p) + ".svg", svg(p));
    }
  };
  for (const Finding& f : report.findings) take(f.pictures);
  take(report.pictures);
  return files;
}

std::string command_of(const Finding& f) { return "grouped_vs_standard claims --only C" + std::to_string(f.number); }

std::string verdict_counts(const std::vector<Finding>& findings) {
  std::vector<std::pair<std::string, int>> counts;
  for (const Finding& f : findings) {
    const std::string verdict = f.verdict.substr(0, f.verdict.find(" (below protocol)"));
    const auto same = std::find_if(counts.begin(), counts.end(), [&](const auto& c) { return c.first == verdict; });
    if (same == counts.end())
      counts.emplace_back(verdict, 1);
    else
      ++same->second;
  }
  std::stable_sort(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  for (const auto& [verdict, count] : counts)
    text += (text.empty() ? "" : "; ") + (verdict.empty() ? "without verdict" : verdict) + " " + std::to_string(count);
  return text;
}

Table overview(const Report& report) {
  Table t;
  t.header = {"claim", "the article's sentence", "verdict", "effect", "95 % interval", "n", "seeds", "command"};
  for (const Finding& f : report.findings)
    t.rows.push_back({"C" + std::to_string(f.number), f.claim, f.verdict, f.effect, f.interval, f.n, f.seeds,
                      "`" + command_of(f) + "`"});
  return t;
}

size_t columns(const Table& t) {
  size_t most = t.header.size();
  for (const auto& row : t.rows) most = std::max(most, row.size());
  return most;
}

std::string anchor(const std::vector<Finding>& findings, size_t i) {
  const std::string name = "c" + std::to_string(findings[i].number);
  const auto before = std::count_if(findings.begin(), findings.begin() + static_cast<std::ptrdiff_t>(i),
                                    [&](const Finding& f) { return f.number == findings[i].number; });
  return before ? name + "-" + std::to_string(before + 1) : name;
}

}  // namespace comparison
