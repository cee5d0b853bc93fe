// The corrected resampled t test against SciPy (reference/statistics.py).
#if __has_include("grouped_vs_standard/statistics/nadeau_bengio.h")
#include <cmath>

#include "grouped_vs_standard/statistics/nadeau_bengio.h"
#include "support/catch.h"

using namespace comparison;

TEST_CASE("statistics: the corrected resampled t test", "[statistics]") {
  const CorrectedT r = nadeau_bengio({1.2, 0.4, -0.3, 2.1, 0.9, 1.5, -0.6, 0.8, 1.1, 0.2}, 1000, 186);
  REQUIRE(r.interval.value == Approx(0.73));
  REQUIRE(r.interval.low == Approx(-0.2644250084407963).epsilon(1e-10));
  REQUIRE(r.interval.high == Approx(1.7244250084407962).epsilon(1e-10));
  REQUIRE(r.t == Approx(1.660632742364308).epsilon(1e-10));
  REQUIRE(r.p == Approx(0.13115619149186805).epsilon(1e-10));
}

TEST_CASE("statistics: the correction widens the plain t interval", "[statistics]") {
  // Tests as large as the training part: (1/2 + 1) s^2 against s^2 / 2, so the interval is sqrt(3) times as wide.
  const double half = 12.706204736174705 * std::sqrt(1.5) * std::sqrt(2.0);  // values 1 and 3: s^2 = 2
  const CorrectedT r = nadeau_bengio({1, 3}, 50, 50);
  REQUIRE(r.interval.high == Approx(2 + half));
  REQUIRE(r.interval.low == Approx(2 - half));
}

TEST_CASE("statistics: the corrected t test without spread, and with too few splits", "[statistics]") {
  REQUIRE(nadeau_bengio({0, 0, 0}, 10, 5).p == 1);
  REQUIRE(nadeau_bengio({-2, -2, -2}, 10, 5).p == 0);
  REQUIRE(nadeau_bengio({-2, -2, -2}, 10, 5).interval.high == -2);
  REQUIRE_THROWS_WITH(nadeau_bengio({1}, 10, 5), Contains("1 splits"));
  REQUIRE_THROWS_WITH(nadeau_bengio({1, 2}, 0, 5), Contains("train 0"));
}
#endif
