// Pictures: well-formed, values where they should be, nothing drawn where there is no value.
#if __has_include("grouped_vs_standard/report/figure.h")
#include <cmath>
#include <sstream>

#include "grouped_vs_standard/report/figure.h"
#include "support/catch.h"
#include "support/xml.h"

using namespace comparison;

namespace {

xml::Element drawn(const Picture& p) { return xml::parse(svg(p)); }

/// Every "x,y" of a polyline or polygon.
std::vector<std::pair<double, double>> points(const xml::Element& e) {
  std::istringstream in(e.attributes.at("points"));
  std::vector<std::pair<double, double>> list;
  double x = 0, y = 0;
  for (char comma = 0; in >> x >> comma >> y;) list.emplace_back(x, y);
  return list;
}

/// A number at the x axis ("middle": its x is the tick's) or at the y axis ("end": its base line is 4 px below).
xml::Element text_of(const xml::Element& picture, const std::string& text, const std::string& anchor = "middle") {
  for (const xml::Element& e : picture.all("text"))
    if (e.text == text && e.attributes.at("text-anchor") == anchor) return e;
  throw std::runtime_error("no text '" + text + "'");
}

bool has_text(const xml::Element& picture, const std::string& text) {
  for (const xml::Element& e : picture.all("text"))
    if (e.text == text) return true;
  return false;
}

Figure line_of(std::vector<double> x, std::vector<double> y) {
  return {.id = "f", .title = "t", .series = {{.name = {}, .x = std::move(x), .y = std::move(y)}}};
}

}  // namespace

TEST_CASE("figure: points lie where the ticks say", "[report]") {
  const xml::Element f = drawn(line_of({0, 4, 10}, {0, 100, 40}));
  const auto circles = f.all("circle");
  REQUIRE(circles.size() == 3);
  const char *x[] = {"0", "4", "10"}, *y[] = {"0", "100", "40"};
  for (size_t i = 0; i < 3; ++i) {
    REQUIRE(circles[i].number("cx") == Approx(text_of(f, x[i]).number("x")).margin(0.02));
    REQUIRE(circles[i].number("cy") == Approx(text_of(f, y[i], "end").number("y") - 4).margin(0.02));
  }
  // y grows upwards, with 5 % room above and below in 300 px.
  REQUIRE(circles[0].number("cy") == Approx(300 - 300 * 0.05 / 1.1).margin(0.01));
  REQUIRE(circles[1].number("cy") == Approx(300 * 0.05 / 1.1).margin(0.01));
  REQUIRE(circles[1].number("cx") ==
          Approx(circles[0].number("cx") + 0.4 * (circles[2].number("cx") - circles[0].number("cx"))).margin(0.02));
  const auto line = points(f.all("polyline").at(0));
  REQUIRE(line.size() == 3);
  REQUIRE(line[2].second == circles[2].number("cy"));
}

TEST_CASE("figure: logarithmic axes", "[report]") {
  Figure figure = line_of({1, 10, 100}, {1e-2, 1, 1e2});
  figure.log_x = figure.log_y = true;
  const xml::Element f = drawn(figure);
  const auto c = f.all("circle");
  REQUIRE(c.size() == 3);
  REQUIRE(c[1].number("cx") == Approx((c[0].number("cx") + c[2].number("cx")) / 2).margin(0.01));
  REQUIRE(c[1].number("cy") == Approx(150).margin(0.01));
  REQUIRE(c[1].number("cx") == Approx(text_of(f, "10").number("x")).margin(0.02));
  // Few distinct x have their ticks there, round or not.
  Figure few = line_of({3, 49, 784}, {1, 2, 3});
  few.log_x = true;
  const xml::Element g = drawn(few);
  for (const char* tick : {"3", "49", "784"}) REQUIRE(has_text(g, tick));
  // What is not above 0 is left out.
  figure.series[0].x[0] = 0, figure.series[0].y[2] = -1;
  REQUIRE(drawn(figure).all("circle").size() == 1);
}

TEST_CASE("figure: lines break where a value is missing", "[report]") {
  const xml::Element f = drawn(line_of({0, 1, 2, 3, 4}, {1, 2, NAN, 2, 1}));
  const auto lines = f.all("polyline");
  REQUIRE(lines.size() == 2);
  REQUIRE(points(lines[0]).size() == 2);
  REQUIRE(f.all("circle").size() == 4);
  for (const double bad : {static_cast<double>(NAN), static_cast<double>(INFINITY)}) {
    const std::string text = svg(line_of({0, bad, 2}, {1, 2, bad}));
    REQUIRE(text.find("nan") == std::string::npos);
    REQUIRE(text.find("inf") == std::string::npos);
    REQUIRE(xml::parse(text).all("circle").size() == 1);
  }
}

TEST_CASE("figure: ticks at small whole numbers", "[report]") {
  REQUIRE_FALSE(has_text(drawn(line_of({1, 2, 3}, {10, 20, 30})), "1.5"));
  REQUIRE(has_text(drawn(line_of({1, 2.2, 3}, {10, 20, 30})), "1.5"));
}

TEST_CASE("figure: nothing to draw is no error", "[report]") {
  const Figure nothing{.id = "n"};
  for (const Figure& f : {nothing, line_of({}, {}), line_of({1, 2}, {NAN, NAN})})
    for (bool log : {false, true}) {
      Figure figure = f;
      figure.log_x = figure.log_y = log;
      REQUIRE(has_text(drawn(figure), "no values"));
      REQUIRE(drawn(figure).all("circle").empty());
    }
  REQUIRE(drawn(line_of({3}, {7})).all("circle").size() == 1);
}

TEST_CASE("figure: error bars and filled bands", "[report]") {
  Figure figure = line_of({0, 1, 2}, {5, 6, 7});
  figure.series[0].low = {4, NAN, 6}, figure.series[0].high = {6, 7, 8};
  const xml::Element bars = drawn(figure);
  const auto circle = bars.all("circle").at(0);
  const double unit = (circle.number("cy") - bars.all("circle").at(2).number("cy")) / 2;
  int upright = 0;
  for (const xml::Element& l : bars.all("line"))
    if (l.attributes.at("x1") == l.attributes.at("x2") && l.attributes.at("x1") == circle.attributes.at("cx") &&
        l.attributes.at("stroke") == circle.attributes.at("fill")) {
      ++upright;
      REQUIRE(l.number("y1") == Approx(circle.number("cy") + unit).margin(0.02));
      REQUIRE(l.number("y2") == Approx(circle.number("cy") - unit).margin(0.02));
    }
  REQUIRE(upright == 1);
  REQUIRE(bars.all("polygon").empty());

  figure.filled_bands = true;
  REQUIRE(drawn(figure).all("polygon").empty());  // the missing value leaves single points
  figure.series[0].low[1] = 5;
  REQUIRE(points(drawn(figure).all("polygon").at(0)).size() == 6);

  figure.filled_bands = false;
  figure.series.push_back(figure.series[0]);
  const xml::Element two = drawn(figure);  // circle and square of x = 2: beside one another, so that both bars show
  REQUIRE(two.all("rect").back().number("x") + 3.6 - two.all("circle").at(2).number("cx") == Approx(6).margin(0.02));
}

TEST_CASE("figure: legend, bands, references and labels", "[report]") {
  Figure f = line_of({1, 2, 3}, {1, 2, 3});
  f.title = "a < b", f.x_label = "x & y", f.y_label = "\"points\"";
  f.series[0].name = "standard";
  f.series.push_back({.name = "grouped", .x = {1, 2}, .y = {2, 2.5}, .points = false});
  f.bands = {{1.5, 2.5, "the article's band"}, {NAN, 2, "not there"}};
  f.reference_y = {3.2, NAN};
  const xml::Element e = drawn(f);
  for (const char* text :
       {"a &lt; b", "x &amp; y", "&quot;points&quot;", "standard", "grouped", "the article&#39;s band", "3.2"})
    REQUIRE(has_text(e, text));
  REQUIRE_FALSE(has_text(e, "not there"));
  // The band reaches from half a unit below 2 to half a unit above.
  const auto c = e.all("circle");  // the legend's, then the data's
  const double unit = c.at(2).number("cx") - c.at(1).number("cx");
  bool found = false;
  for (const xml::Element& r : e.all("rect"))
    if (r.attributes.count("x") && std::fabs(r.number("width") - unit) < 0.05 && r.number("height") == 300) {
      found = true;
      REQUIRE(r.number("x") == Approx(c.at(2).number("cx") - unit / 2).margin(0.02));
    }
  REQUIRE(found);
}

TEST_CASE("forest: intervals, marks and rows without a value", "[report]") {
  Forest f{.id = "f", .title = "t", .x_label = "points"};
  f.rows = {
      {"up", {2, 1, 3}, "p = 0.01"}, {"down", {-2, -3, -1}, ""}, {"open", {0, -1, 1}, ""}, {"none", {NAN, 0, 0}, ""}};
  f.marks = {3.2};
  const xml::Element e = drawn(f);
  for (const char* text : {"up", "+2.00 [+1.00, +3.00]", "p = 0.01", "no value", "3.2", "points"})
    REQUIRE(has_text(e, text));
  const double zero = text_of(e, "0").number("x"), two = text_of(e, "2").number("x");
  std::vector<xml::Element> squares;
  for (const xml::Element& r : e.all("rect"))
    if (r.attributes.count("x")) squares.push_back(r);
  REQUIRE(squares.size() == 3);
  REQUIRE(squares[0].number("x") + 3.6 == Approx(two).margin(0.02));
  REQUIRE(squares[1].number("x") + 3.6 == Approx(2 * zero - two).margin(0.02));
  REQUIRE(squares[2].number("x") + 3.6 == Approx(zero).margin(0.02));
  REQUIRE(squares[0].attributes.at("fill") != squares[1].attributes.at("fill"));
  REQUIRE(squares[1].attributes.at("fill") != squares[2].attributes.at("fill"));
  REQUIRE(drawn(Forest{.id = "empty"}).name == "svg");
}

TEST_CASE("heatmaps: cells, colours and missing values", "[report]") {
  Heatmaps h{.id = "h", .title = "t", .maps = {{"a < b", 2, 3, {0, 0, 1, 1, 1, NAN}}}};
  const xml::Element e = drawn(h);
  REQUIRE(has_text(e, "a &lt; b"));
  const auto paths = e.all("path");
  REQUIRE(paths.size() == 2);
  REQUIRE(paths[0].attributes.at("d") == "M0 0h2v1h-2z");  // two neighbours as one rectangle
  REQUIRE(paths[1].attributes.at("d") == "M2 0h1v1h-1zM0 1h2v1h-2z");
  REQUIRE(paths[0].attributes.at("fill") == "#f7fbff");
  REQUIRE(paths[1].attributes.at("fill") == "#08306b");
  // On both sides of 0 the scale is symmetric: -1 is at its middle between 0 and -2.
  h.maps = {{"", 1, 3, {-1, 0, 2}}};
  const auto both = drawn(h).all("path");
  REQUIRE(both.size() == 3);
  REQUIRE(both[2].attributes.at("fill") == "#004682");
  REQUIRE(text_of(drawn(h), "-2").number("x") == 16);
  for (std::vector<double> v : {std::vector<double>{NAN}, std::vector<double>{4}}) {
    h.maps = {{"", 1, 1, v}};
    REQUIRE(drawn(h).all("path").size() == (std::isnan(v[0]) ? 0 : 1));
  }
  h.maps = {{"", 0, 0, {}}, {"", 1, 1, {2}}};
  REQUIRE(drawn(h).all("path").size() == 1);
  REQUIRE(drawn(Heatmaps{.id = "empty"}).name == "svg");
}

TEST_CASE("pictures: lists that do not fit, and ids, are refused", "[report]") {
  REQUIRE_THROWS_WITH(svg(line_of({1, 2}, {1})), Contains("2 x and 1 y"));
  Figure f = line_of({1, 2}, {1, 2});
  f.series[0].low = {1, 2};
  REQUIRE_THROWS_WITH(svg(f), Contains("low and high go together"));
  f.series[0].high = {1};
  REQUIRE_THROWS_WITH(svg(f), Contains("2 x and 1 high"));
  REQUIRE_THROWS_WITH(svg(Heatmaps{.id = "h", .maps = {{"m", 2, 2, {1, 2, 3}}}}), Contains("3 values for 2 rows"));
  REQUIRE_THROWS_WITH(svg(Heatmaps{.id = "h", .per_row = 0}), Contains("per_row 0"));
  REQUIRE_THROWS_WITH(svg(Forest{.id = "a b"}), Contains("id 'a b'"));
  REQUIRE(id_of(Picture(f)) == "f");
  REQUIRE(title_of(Picture(f)) == "t");
}
#endif
