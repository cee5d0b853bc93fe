// The page that pictures are drawn on: escaping, text, shapes.
#if __has_include("grouped_vs_standard/report/svg.h")
#include "grouped_vs_standard/report/svg.h"
#include "support/catch.h"
#include "support/xml.h"

using namespace comparison;

TEST_CASE("svg: text is escaped for XML", "[report]") {
  REQUIRE(escape("a < b && c > \"d\" 'e'") == "a &lt; b &amp;&amp; c &gt; &quot;d&quot; &#39;e&#39;");
  REQUIRE(escape("√g ≥ 3 – 中文") == "√g ≥ 3 – 中文");
  REQUIRE(escape(std::string("a\0b\x01"
                             "c\td\n",
                             8)) == "abc\td\n");
  REQUIRE(escape("\xff\xc3 \xe2\x88") == "?? ??");  // no UTF-8: each such byte
  REQUIRE(escape("") == "");
}

TEST_CASE("svg: lines are broken at spaces, and no longer than asked for", "[report]") {
  const std::string text = "one two three fourteenletters five";
  const double width = text_width("three fourteen", 12);
  const auto lines = wrap(text, width, 12);
  REQUIRE(lines == std::vector<std::string>{"one two three", "fourteenletters", "five"});
  REQUIRE(wrap("", 100, 12) == std::vector<std::string>{""});
  REQUIRE(wrap("alone", 1, 12) == std::vector<std::string>{"alone"});
  REQUIRE(text_width("√√", 10) == text_width("aa", 10));  // characters, not bytes
  REQUIRE(text_width("abc", 20) == 2 * text_width("abc", 10));
}

TEST_CASE("svg: a document is well-formed and holds what was put on it", "[report]") {
  Svg page;
  page.text(10, 20.456, "a < b", {.anchor = Anchor::end, .bold = true, .upright = true});
  page.line(0, 1, 2.5, -0.001, ink::grid, 1, "2 3");
  page.rectangle(1, 2, 3, 4, "#123456");
  page.polyline({1, 2}, {3, 4}, "#000000");
  page.polygon({1, 2, 3}, {3, 4, 5}, "#000000", 0.5);
  for (Marker m : {Marker::circle, Marker::square, Marker::triangle, Marker::diamond, Marker::down, Marker::cross})
    page.marker(m, 5, 6, colour(7));
  const std::string s = page.document("a & \"b\"", 100.5);
  const xml::Element root = xml::parse(s);
  REQUIRE(root.name == "svg");
  REQUIRE(root.attributes.at("viewBox") == "0 0 720 100.5");
  REQUIRE(root.attributes.at("aria-label") == "a &amp; &quot;b&quot;");
  const auto texts = root.all("text"), lines = root.all("line"), circles = root.all("circle");
  REQUIRE(texts.size() == 1);
  REQUIRE(texts[0].text == "a &lt; b");
  REQUIRE(texts[0].attributes.at("y") == "20.46");
  REQUIRE(lines.size() == 3);  // and two of the cross
  REQUIRE(lines[0].attributes.at("y2") == "0");
  REQUIRE(circles.size() == 1);
  REQUIRE(circles[0].attributes.at("fill") == std::string(colour(0)));  // seven colours, then again
  REQUIRE(root.all("polygon").size() == 4);
}

TEST_CASE("svg: ids name files", "[report]") {
  check_id("c30-loss_2");
  for (const char* bad : {"", "a b", "../x", "A", "a.svg"}) REQUIRE_THROWS_WITH(check_id(bad), Contains("id '"));
}
#endif
