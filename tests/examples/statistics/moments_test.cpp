// Mean, deviation and median.
#if __has_include("grouped_vs_standard/statistics/moments.h")
#include "grouped_vs_standard/statistics/moments.h"
#include "support/catch.h"

using namespace comparison;

TEST_CASE("statistics: moments and medians", "[statistics]") {
  REQUIRE(mean({1, 2, 6}) == 3);
  REQUIRE(standard_deviation({2, 4, 4, 4, 5, 5, 7, 9}) == Approx(2.138089935));
  REQUIRE(standard_deviation({5}) == 0);
  REQUIRE(median({3, 1, 2}) == 2);
  REQUIRE(median({7}) == 7);
  REQUIRE(median({4, 1, 2, 3}) == 2.5);
  REQUIRE_THROWS_WITH(mean({}), Contains("mean: no values"));
  REQUIRE_THROWS_WITH(median({}), Contains("median: no values"));
}
#endif
