#include "grouped_vs_standard/report/markdown.h"

#include <cctype>
#include <cstring>

namespace comparison {
namespace {

/// Whether the character would be markup where it stands: _ inside a word and [ without (link) are not.
bool marks_up(const std::string& text, size_t i) {
  const auto letter = [&](size_t at) { return at < text.size() && std::isalnum(static_cast<unsigned char>(text[at])); };
  if (text[i] == '_') return i == 0 || !letter(i - 1) || !letter(i + 1);
  if (text[i] == '[') return text.find("](", i) != std::string::npos;
  return text[i] && std::strchr("\\`*$~", text[i]);
}

/// Text that means itself, on one line; `code` stays code.
std::string plain(const std::string& text) {
  std::string s;
  bool code = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '`' && (code || text.find('`', i + 1) != std::string::npos)) {
      code = !code;
      s += c;
    } else if (c == '\n' || c == '\r') {
      s += ' ';
    } else if (c == '|') {
      s += "\\|";  // it would part cells even inside code
    } else if (code) {
      s += c;
    } else if (c == '<' || c == '&') {
      s += c == '<' ? "&lt;" : "&amp;";
    } else {
      if (marks_up(text, i)) s += '\\';
      s += c;
    }
  }
  return s;
}

std::string cell(const std::string& text) {
  const std::string s = plain(text);
  return s.empty() ? " " : s;
}

std::string line(const std::vector<std::string>& cells, size_t count) {
  std::string s = "|";
  for (size_t i = 0; i < count; ++i) s += " " + (i < cells.size() ? cell(cells[i]) : " ") + " |";
  return s + "\n";
}

std::string picture(const Picture& p, const std::string& folder) {
  return "![" + plain(title_of(p)) + "](" + folder + (folder.empty() ? "" : "/") + id_of(p) + ".svg)\n\n";
}

std::string paragraph(const std::string& head, const std::string& text) {
  return text.empty() ? "" : (head.empty() ? "" : "**" + head + "** ") + plain(text) + "\n\n";
}

std::string section(const Report& report, size_t i, const std::string& folder) {
  const Finding& f = report.findings[i];
  std::string s = "<a id=\"" + anchor(report.findings, i) + "\"></a>\n\n### C" + std::to_string(f.number) + " – " +
                  plain(f.claim) + "\n\n";
  std::string result = f.verdict;
  if (!f.effect.empty()) result += "; effect " + f.effect;
  if (!f.interval.empty()) result += " " + f.interval;
  if (!f.n.empty()) result += "; n = " + f.n;
  if (!f.seeds.empty()) result += "; seeds " + f.seeds;
  s += paragraph("Verdict:", result);
  s += paragraph("Test:", f.test);
  s += paragraph("Why:", f.why);
  for (const Table& t : f.tables) s += markdown(t) + "\n";
  for (const Picture& p : f.pictures) s += picture(p, folder);
  return s;
}

/// overview() with the numbers as links.
std::string overview_lines(const Report& report) {
  Table t = overview(report);
  std::string s = line(t.header, columns(t)) + "|";
  for (size_t i = 0; i < columns(t); ++i) s += " --- |";
  s += "\n";
  for (size_t i = 0; i < t.rows.size(); ++i) {
    const std::string number = t.rows[i][0];
    t.rows[i].erase(t.rows[i].begin());
    s += "| [" + number + "](#" + anchor(report.findings, i) + ") " + line(t.rows[i], columns(t) - 1);
  }
  return s;
}

}  // namespace

std::string markdown(const Table& t) {
  const size_t count = columns(t);
  std::string s = t.title.empty() ? "" : "**" + plain(t.title) + "**\n\n";
  if (count == 0) return s;
  s += line(t.header, count) + "|";
  for (size_t i = 0; i < count; ++i) s += " --- |";
  s += "\n";
  for (const auto& row : t.rows) s += line(row, count);
  return s;
}

std::string markdown(const Report& report, const std::string& folder) {
  std::string s = "# " + plain(report.title) + "\n\n" + paragraph("", report.provenance);
  s += markdown(report.headline) + "\n";
  if (!report.findings.empty())
    s += "## The claims\n\n" + paragraph("", verdict_counts(report.findings) + ".") + overview_lines(report) + "\n";
  for (size_t i = 0; i < report.findings.size(); ++i) s += section(report, i, folder);
  if (!report.pictures.empty()) s += "## Pictures\n\n";
  for (const Picture& p : report.pictures) s += picture(p, folder);
  if (!report.extra_tables.empty()) s += "## More tables\n\n";
  for (const Table& t : report.extra_tables) s += markdown(t) + "\n";
  if (!report.remarks.empty()) s += "## Remarks\n\n";
  for (const std::string& remark : report.remarks) s += "- " + plain(remark) + "\n";
  return s;
}

}  // namespace comparison
