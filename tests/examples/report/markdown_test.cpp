// The report in both forms: every table's lines have equally many cells, text means itself, everything is there.
#if __has_include("grouped_vs_standard/report/markdown.h")
#include <sstream>

#include "grouped_vs_standard/report/html.h"
#include "grouped_vs_standard/report/markdown.h"
#include "support/catch.h"
#include "support/xml.h"

using namespace comparison;

namespace {

Report sample() {
  Report r{.title = "A <report>", .provenance = "2 cores & more"};
  r.headline = {"Ours | theirs", {"measure", "a|b", "`c|d`"}, {{"speed"}, {"accuracy", "1", "2", "3"}}};
  Finding f{.number = 30, .claim = "gain = 1/(i+1) | q only", .test = "a < b", .verdict = "refuted (below protocol)"};
  f.effect = "-0.5 points", f.interval = "[-0.9, -0.1]", f.n = "10000", f.seeds = "5", f.why = "since *it* is";
  f.tables = {{"", {"G", "accuracy"}, {{"1\n2", "76"}}}};
  f.pictures = {Figure{.id = "c30", .title = "loss", .series = {{.name = "s", .x = {1, 2}, .y = {1, 2}}}}};
  r.findings = {f, {.number = 31, .claim = "early loss", .verdict = "holds"}, {.number = 30, .verdict = "holds"}};
  r.pictures = {Forest{.id = "all", .title = "all"}, Heatmaps{.id = "maps", .title = "maps"}};
  r.extra_tables = {{"Extra", {"x"}, {{"1"}}}};
  r.remarks = {"a remark_ <here>"};
  return r;
}

/// Cells of a line of a table: | that are not escaped, less one.
int cells(const std::string& line) {
  int bars = 0;
  for (size_t i = 0; i < line.size(); ++i) bars += line[i] == '|' && (i == 0 || line[i - 1] != '\\');
  return bars - 1;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("markdown: all lines of a table have equally many cells", "[report]") {
  std::istringstream in(markdown(sample(), "figures"));
  int wanted = 0, tables = 0;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] != '|') {
      wanted = 0;
      continue;
    }
    if (wanted == 0) wanted = cells(line), ++tables;
    INFO(line);
    REQUIRE(cells(line) == wanted);
  }
  REQUIRE(tables == 4);
  REQUIRE(markdown(Table{"", {"a", "b|c"}, {{"1"}}}) == "| a | b\\|c |\n| --- | --- |\n| 1 |   |\n");
  REQUIRE(markdown(Table{}).empty());
}

TEST_CASE("markdown: text means itself", "[report]") {
  const auto cell = [](const std::string& text) {
    const std::string s = markdown(Table{"", {text}, {}});
    return s.substr(2, s.find(" |\n") - 2);
  };
  REQUIRE(cell("a < b & c") == "a &lt; b &amp; c");
  REQUIRE(cell("2*3*4 ~5 $6") == "2\\*3\\*4 \\~5 \\$6");
  REQUIRE(cell("group_dim _x_ [1, 2]") == "group_dim \\_x\\_ [1, 2]");
  REQUIRE(cell("[a](b)") == "\\[a](b)");
  REQUIRE(cell("`a_*b*` and ` alone") == "`a_*b*` and \\` alone");
  REQUIRE(cell("two\nlines") == "two lines");
}

TEST_CASE("markdown: the parts of a report", "[report]") {
  const std::string s = markdown(sample(), "figures");
  REQUIRE(s.rfind("# A &lt;report>\n", 0) == 0);
  REQUIRE(s.find("**Ours") < s.find("## The claims"));
  REQUIRE(has(s, "holds 2; refuted 1."));
  REQUIRE(has(s,
              "| [C30](#c30) | gain = 1/(i+1) \\| q only | refuted (below protocol) | -0.5 points | [-0.9, -0.1] | "
              "10000 | 5 | `grouped_vs_standard claims --only C30` |"));
  REQUIRE(has(s, "### C30 – gain"));
  REQUIRE(has(s, "<a id=\"c30-2\"></a>"));
  REQUIRE(has(s, "**Why:** since \\*it\\* is"));
  for (const auto& [file, picture] : picture_files(sample())) REQUIRE(has(s, "](figures/" + file + ")"));
  REQUIRE(has(s, "- a remark\\_ &lt;here>"));
}

TEST_CASE("html: one well-formed file with everything in it", "[report]") {
  const std::string s = html(sample());
  const xml::Element root = xml::parse(s);
  REQUIRE(root.name == "html");
  REQUIRE(root.all("svg").size() == 3);
  REQUIRE(root.all("script").empty());
  REQUIRE(root.all("img").empty());
  REQUIRE(root.all("link").empty());
  REQUIRE(root.all("h1").at(0).text == "A &lt;report&gt;");
  REQUIRE(has(s, "a remark_ &lt;here&gt;"));
  REQUIRE(has(s, "<code>c|d</code>"));
  REQUIRE(has(s, "<span class=\"verdict no\">refuted</span><small class=\"soft\"> (below protocol)</small>"));
  REQUIRE(has(s, "<span class=\"verdict yes\">holds</span>"));
  for (const xml::Element& table : root.all("table"))
    for (const xml::Element& row : table.all("tr"))
      REQUIRE(row.children.size() == table.all("tr").at(0).children.size());
  // Every link within the page has its target.
  for (const xml::Element& a : root.all("a")) REQUIRE(has(s, " id=\"" + a.attributes.at("href").substr(1) + "\""));
  REQUIRE(xml::parse(html(Report{})).name == "html");
}

TEST_CASE("report: pictures are files of their own", "[report]") {
  Report r = sample();
  const auto files = picture_files(r);
  REQUIRE(files.size() == 3);
  REQUIRE(files[0].first == "c30.svg");
  REQUIRE(files[0].second == svg(r.findings[0].pictures[0]));
  r.pictures.push_back(Forest{.id = "c30"});
  REQUIRE_THROWS_WITH(picture_files(r), Contains("two pictures have the id 'c30'"));
}

TEST_CASE("xml: the reader of these tests refuses what is not well-formed", "[report]") {
  for (const char* bad : {"<a>", "<a></b>", "<a b=\"1\" b=\"2\"/>", "<a>&x;</a>", "<a>a & b</a>", "<a b=\"<\"/>",
                          "<a/>text", "<a b=1/>", "", "<a>\x01</a>"}) {
    INFO(bad);
    REQUIRE_THROWS_WITH(xml::parse(bad), Contains("XML, byte"));
  }
  REQUIRE(xml::parse("<?xml?><!-- c --><a b=\"1\">t<c/>u</a>").text == "tu");
}
#endif
