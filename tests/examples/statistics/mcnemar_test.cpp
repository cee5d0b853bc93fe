// McNemar's test against SciPy (reference/statistics.py).
#if __has_include("grouped_vs_standard/statistics/mcnemar.h")
#include <cmath>

#include "grouped_vs_standard/statistics/mcnemar.h"
#include "support/catch.h"

using namespace comparison;

TEST_CASE("statistics: McNemar's exact test", "[statistics]") {
  const auto close = [](int64_t a, int64_t b, double p) {
    const McNemar m = mcnemar(a, b);
    REQUIRE(m.exact);
    REQUIRE(m.p == Approx(p).epsilon(1e-12));
    REQUIRE(mcnemar(b, a).p == m.p);
  };
  close(3, 9, 0.14599609375);
  close(0, 5, 0.0625);  // 2 / 2^5
  close(12, 12, 1);
  close(1, 23, 2.9802322387695312e-06);
  close(0, 0, 1);
}

TEST_CASE("statistics: McNemar's chi-square with continuity correction", "[statistics]") {
  const auto close = [](int64_t a, int64_t b, double p) {
    const McNemar m = mcnemar(a, b);
    REQUIRE_FALSE(m.exact);
    REQUIRE(m.p == Approx(p).epsilon(1e-10));
    REQUIRE(mcnemar(b, a).p == m.p);
  };
  close(150, 86, 4.114562281345944e-05);
  close(5, 25, 0.0005225753951242464);
  close(400, 520, 8.733926588357831e-05);
  close(12, 13, 1);
  close(30, 30, 1);
}

TEST_CASE("statistics: McNemar's counts and difference", "[statistics]") {
  std::vector<uint8_t> a(100, 1), b(100, 1);
  for (size_t i = 0; i < 10; ++i) a[i] = 0;   // only b is right: 0 ... 5
  for (size_t i = 6; i < 9; ++i) b[i] = 0;    // both wrong: 6, 7, 8
  for (size_t i = 20; i < 22; ++i) b[i] = 0;  // only a
  a[9] = b[9] = 1;
  const McNemar m = mcnemar(a, b);
  REQUIRE(m.only_a == 2);
  REQUIRE(m.only_b == 6);
  const Interval d = difference(m, 100);
  REQUIRE(d.value == Approx(4));
  REQUIRE(d.high - d.value == Approx(196 * std::sqrt(8 - 0.16) / 100).epsilon(1e-4));
  REQUIRE(d.value - d.low == Approx(d.high - d.value));
  REQUIRE_THROWS_WITH(mcnemar(std::vector<uint8_t>(3), std::vector<uint8_t>(4)), Contains("3 and 4 items"));
  REQUIRE_THROWS_WITH(mcnemar(-1, 4), Contains("-1 and 4"));
  REQUIRE_THROWS_WITH(difference(m, 7), Contains("items 7"));
}
#endif
