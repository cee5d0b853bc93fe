// Axes: where values lie, and that ticks are round, inside and not crowded.
#if __has_include("grouped_vs_standard/report/axis.h")
#include <cmath>
#include <limits>

#include "grouped_vs_standard/report/axis.h"
#include "support/catch.h"

using namespace comparison;

namespace {

std::vector<std::string> labels(const std::vector<Tick>& ticks) {
  std::vector<std::string> list;
  for (const Tick& t : ticks) list.push_back(t.label);
  return list;
}

using Labels = std::vector<std::string>;

}  // namespace

TEST_CASE("axis: places of values", "[report]") {
  const Axis up(0, 10, false, 300, 0);  // as y, which grows upwards
  REQUIRE(up.at(0) == 300);
  REQUIRE(up.at(10) == 0);
  REQUIRE(up.at(2.5) == 225);
  const Axis log(1, 1000, true, 0, 300);
  REQUIRE(log.at(1) == 0);
  REQUIRE(log.at(10) == Approx(100));
  REQUIRE(log.at(1000) == Approx(300));
  REQUIRE_FALSE(log.shows(0));
  REQUIRE_FALSE(log.shows(NAN));
  REQUIRE_FALSE(up.shows(INFINITY));
  REQUIRE(up.shows(-1));
}

TEST_CASE("axis: ranges that show nothing are widened", "[report]") {
  REQUIRE(Axis(5, 5, false, 0, 100).at(5) == Approx(50));
  REQUIRE(Axis(0, 0, false, 0, 100).at(0) == Approx(50));
  REQUIRE(Axis(-3, -3, false, 0, 100).at(-3) == Approx(50));
  REQUIRE(Axis(4, 4, true, 0, 100).at(4) == Approx(50));
  for (bool log : {false, true})
    for (double low : {std::numeric_limits<double>::infinity(), static_cast<double>(NAN), -1.0}) {
      const Axis axis(low, low == -1 ? 3 : -low, log, 0, 100);
      REQUIRE(axis.high() > axis.low());
      REQUIRE(std::isfinite(axis.at(axis.low())));
      REQUIRE(!axis.ticks(50).empty());
    }
}

TEST_CASE("axis: linear ticks", "[report]") {
  REQUIRE(labels(Axis(0, 10, false, 0, 300).ticks(60)) == Labels{"0", "2", "4", "6", "8", "10"});
  REQUIRE(labels(Axis(-0.31, 0.29, false, 0, 300).ticks(50)) == Labels{"-0.3", "-0.2", "-0.1", "0", "0.1", "0.2"});
  REQUIRE(labels(Axis(74.1, 77.9, false, 300, 0).ticks(50)) == Labels{"75", "76", "77"});
  REQUIRE(labels(Axis(0, 1e7, false, 0, 300).ticks(100)) == Labels{"0", "5e6", "1e7"});
}

TEST_CASE("axis: logarithmic ticks", "[report]") {
  REQUIRE(labels(Axis(1, 1e4, true, 0, 300).ticks(60)) == Labels{"1", "10", "100", "1000", "10000"});
  REQUIRE(labels(Axis(0.9, 60, true, 0, 300).ticks(50)) == Labels{"1", "2", "5", "10", "20", "50"});
  REQUIRE(labels(Axis(1e-4, 1e8, true, 0, 300).ticks(60)) == Labels{"0.001", "1", "1000", "1e6"});
  // Less than a decade: linear ticks, which are still placed logarithmically.
  const Axis narrow(3, 4.5, true, 0, 300);
  REQUIRE(labels(narrow.ticks(100)) == Labels{"3", "3.5", "4", "4.5"});
  REQUIRE(narrow.at(4) > 150);
}

TEST_CASE("axis: ticks at the data", "[report]") {
  const Axis axis(1, 16, true, 0, 400);
  REQUIRE(labels(axis.ticks_at({16, 1, 2, 4, 8}, 12)) == Labels{"1", "2", "4", "8", "16"});
  REQUIRE(labels(axis.ticks_at({8, 8.1, 16}, 12)) == Labels{"8", "", "16"});  // no number upon another
}

TEST_CASE("axis: numbers in their shortest form", "[report]") {
  REQUIRE(tick_label(0.25) == "0.25");
  REQUIRE(tick_label(3e-4) == "3e-4");
  REQUIRE(tick_label(1500) == "1500");
  REQUIRE(tick_label(2.5e6) == "2.5e6");
  REQUIRE(tick_label(-0.0) == "0");
  REQUIRE(tick_label(0.1 + 0.2) == "0.3");
}
#endif
