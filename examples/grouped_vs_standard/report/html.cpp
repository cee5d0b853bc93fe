#include "grouped_vs_standard/report/html.h"

#include <algorithm>

#include "grouped_vs_standard/report/svg.h"

namespace comparison {
namespace {

constexpr const char* style = R"(
:root { color-scheme: light; --ink: #1f2328; --soft: #57606a; --line: #d8dee4; --shade: #f6f8fa; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1200px; padding: 24px 20px 80px; background: #fff; color: var(--ink);
  font: 15px/1.5 system-ui, "Segoe UI", "DejaVu Sans", Helvetica, Arial, sans-serif; }
h1 { font-size: 26px; line-height: 1.25; margin: 8px 0; }
h2 { font-size: 20px; margin: 44px 0 12px; padding-bottom: 4px; border-bottom: 1px solid var(--line); }
h3 { font-size: 16px; margin: 36px 0 8px; }
a { color: #0059a3; text-decoration: none; } a:hover { text-decoration: underline; }
nav { display: flex; flex-wrap: wrap; gap: 4px 18px; margin: 14px 0; }
.soft { color: var(--soft); }
.wide { overflow-x: auto; margin: 8px 0 20px; }
table { border-collapse: collapse; font-size: 13.5px; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding: 6px 0; }
th, td { padding: 4px 12px 4px 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
th { background: var(--shade); }
th:first-child, td:first-child { padding-left: 8px; }
td.sentence { min-width: 240px; }
td.tight { white-space: nowrap; }
code { font: 12px ui-monospace, "DejaVu Sans Mono", monospace; background: var(--shade); padding: 1px 4px; }
.verdict { display: inline-block; padding: 0 8px; border-radius: 9px; border: 1px solid; font-size: 13px;
  white-space: nowrap; }
.yes { color: #004f7d; background: #e5f1f8; } .no { color: #8f3d00; background: #fcece2; }
.open { color: #4d555d; background: #f1f3f5; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 4px 14px; margin: 8px 0 14px; }
dt { color: var(--soft); } dd { margin: 0; }
figure { margin: 12px 0 22px; } figure svg { display: block; max-width: 100%; height: auto; }
@media print { body { max-width: none; } h3, figure, tr { break-inside: avoid; } nav { display: none; } }
)";

/// Escaped text; `code` in backticks becomes code.
std::string text(const std::string& words) {
  std::string s;
  bool code = false;
  for (size_t from = 0; from <= words.size();) {
    const size_t tick = words.find('`', from);
    const bool closes = tick != std::string::npos && (code || words.find('`', tick + 1) != std::string::npos);
    s += escape(words.substr(from, closes ? tick - from : std::string::npos));
    if (!closes) break;
    s += code ? "</code>" : "<code>";
    code = !code;
    from = tick + 1;
  }
  return s;
}

std::string element(const std::string& name, const std::string& content, const std::string& attributes = "") {
  return "<" + name + attributes + ">" + content + "</" + name + ">";
}

/// The verdict as a badge, coloured by its words, which say the same; a parenthesis stands beside it.
std::string badge(const std::string& verdict) {
  if (verdict.empty()) return "";
  const auto has = [&](const char* word) { return verdict.find(word) != std::string::npos; };
  const char* kind = has("refuted") || has("differs")                  ? "no"
                     : has("holds") || has("agrees") || has("exceeds") ? "yes"
                                                                       : "open";
  const size_t end = std::min(verdict.find(" ("), verdict.size());
  return element("span", text(verdict.substr(0, end)), std::string(" class=\"verdict ") + kind + "\"") +
         (end < verdict.size() ? element("small", text(verdict.substr(end)), " class=\"soft\"") : "");
}

std::string table(const Table& t) {
  const size_t count = columns(t);
  if (count == 0) return t.title.empty() ? "" : element("p", element("strong", text(t.title)));
  std::string s = t.title.empty() ? "" : element("caption", text(t.title));
  const auto line = [&](const std::vector<std::string>& cells, const char* name) {
    std::string row;
    for (size_t i = 0; i < count; ++i) row += element(name, i < cells.size() ? text(cells[i]) : "");
    return element("tr", row) + "\n";
  };
  if (!t.header.empty()) s += element("thead", line(t.header, "th"));
  std::string body;
  for (const auto& row : t.rows) body += line(row, "td");
  return "<div class=\"wide\">" + element("table", s + element("tbody", body)) + "</div>\n";
}

std::string overview_table(const Report& report) {
  const Table t = overview(report);
  std::string head, body;
  for (const std::string& cell : t.header) head += element("th", text(cell));
  for (size_t i = 0; i < t.rows.size(); ++i) {
    const auto& row = t.rows[i];
    std::string line = element("td", element("a", text(row[0]), " href=\"#" + anchor(report.findings, i) + "\"")) +
                       element("td", text(row[1]), " class=\"sentence\"") + element("td", badge(row[2]));
    for (size_t c = 3; c < row.size(); ++c) line += element("td", text(row[c]), c != 3 ? " class=\"tight\"" : "");
    body += element("tr", line) + "\n";
  }
  return "<div class=\"wide\">" + element("table", element("thead", element("tr", head)) + element("tbody", body)) +
         "</div>\n";
}

std::string picture(const Picture& p) { return element("figure", svg(p), " id=\"" + id_of(p) + "\"") + "\n"; }

std::string section(const Report& report, size_t i) {
  const Finding& f = report.findings[i];
  std::string s = element("h3", "C" + std::to_string(f.number) + " – " + text(f.claim),
                          " id=\"" + anchor(report.findings, i) + "\"") +
                  "\n";
  std::string facts;
  const auto fact = [&](const char* name, const std::string& value) {
    if (!value.empty()) facts += element("dt", name) + element("dd", value) + "\n";
  };
  fact("Verdict", badge(f.verdict));
  fact("Effect", text(f.effect + (f.effect.empty() || f.interval.empty() ? "" : " ") + f.interval));
  fact("Items, seeds", text(f.n + (f.n.empty() || f.seeds.empty() ? "" : ", ") + f.seeds));
  fact("Test", text(f.test));
  fact("Why", text(f.why));
  fact("Command", element("code", escape(command_of(f))));
  s += element("dl", facts) + "\n";
  for (const Table& t : f.tables) s += table(t);
  for (const Picture& p : f.pictures) s += picture(p);
  return s;
}

}  // namespace

std::string html(const Report& report) {
  std::string nav, body;
  const auto part = [&](const char* id, const char* title) {
    nav += element("a", title, std::string(" href=\"#") + id + "\"") + "\n";
    body += element("h2", title, std::string(" id=\"") + id + "\"") + "\n";
  };
  part("headline", "The article's table");
  body += table(report.headline);
  if (!report.findings.empty()) {
    part("claims", "The claims");
    body += element("p", text(verdict_counts(report.findings)) + ".") + "\n" + overview_table(report);
    part("findings", "Claim by claim");
  }
  for (size_t i = 0; i < report.findings.size(); ++i) body += section(report, i);
  if (!report.pictures.empty()) part("pictures", "Pictures");
  for (const Picture& p : report.pictures) body += picture(p);
  if (!report.extra_tables.empty()) part("tables", "More tables");
  for (const Table& t : report.extra_tables) body += table(t);
  if (!report.remarks.empty()) {
    part("remarks", "Remarks");
    std::string items;
    for (const std::string& remark : report.remarks) items += element("li", text(remark)) + "\n";
    body += element("ul", items);
  }
  return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n" +
         element("title", escape(report.title)) + "\n<style>" + style + "</style>\n</head>\n<body>\n" +
         element("h1", text(report.title)) + "\n" + element("p", text(report.provenance), " class=\"soft\"") + "\n" +
         element("nav", nav) + "\n" + body + "</body>\n</html>\n";
}

}  // namespace comparison
