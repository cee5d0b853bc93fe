// Numbers as the report prints them.
#if __has_include("grouped_vs_standard/report/format.h")
#include <cmath>

#include "grouped_vs_standard/report/format.h"
#include "support/catch.h"

using namespace comparison;

TEST_CASE("report: numbers and intervals as text", "[report]") {
  REQUIRE(number(0.516) == "0.52");
  REQUIRE(number(0.516, 1, true) == "+0.5");
  REQUIRE(number(-0.001) == "0.00");
  REQUIRE(number(-0.001, 2, true) == "+0.00");
  REQUIRE(number(NAN) == "–");
  REQUIRE(range({0.5, -0.1, 1.2}, 1, true) == "[-0.1, +1.2]");
  REQUIRE(with_range({0.5, -0.1, 1.25}) == "0.50 [-0.10, 1.25]");
  REQUIRE(p_value(0.03449) == "0.034");
  REQUIRE(p_value(0.0009) == "< 0.001");
  REQUIRE(p_value(1) == "1.000");
  REQUIRE(p_value(NAN) == "–");
}
#endif
