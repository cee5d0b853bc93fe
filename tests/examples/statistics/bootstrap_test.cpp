// The bootstrap against the normal approximation and cases that can be counted out.
#if __has_include("grouped_vs_standard/statistics/bootstrap.h")
#include <algorithm>
#include <cmath>

#include "grouped_vs_standard/statistics/bootstrap.h"
#include "support/catch.h"

using namespace comparison;

namespace {

Resampled bootstrap_mean(const std::vector<double>& values) {
  return bootstrap(values.size(), [&](const std::vector<size_t>& drawn) {
    double sum = 0;
    for (const size_t i : drawn) sum += values[i];
    return sum / static_cast<double>(drawn.size());
  });
}

}  // namespace

TEST_CASE("statistics: the bootstrap interval of a difference", "[statistics]") {
  // One seed, items independent: the interval must be the normal one, p +- 1.96 sqrt(p (1 - p) / n).
  const size_t n = 10000;
  std::vector<std::vector<uint8_t>> none(1, std::vector<uint8_t>(n, 0)), some = none;
  for (size_t i = 0; i < 300; ++i) some[0][i] = 1;
  const Interval d = bootstrap_difference(none, some).interval;
  REQUIRE(d.value == Approx(3));
  const double half = 196 * std::sqrt(0.03 * 0.97 / static_cast<double>(n));
  REQUIRE(d.low == Approx(3 - half).margin(0.03));
  REQUIRE(d.high == Approx(3 + half).margin(0.03));
  REQUIRE(bootstrap_difference(some, some).interval.value == 0);
  REQUIRE(bootstrap_difference(some, some).interval.high == 0);
  REQUIRE(bootstrap_accuracy(some).interval.value == Approx(3));
  REQUIRE(bootstrap_difference(none, some).interval.low == d.low);  // repeatable
}

TEST_CASE("statistics: seeds widen the interval", "[statistics]") {
  const size_t n = 2000;
  std::vector<std::vector<uint8_t>> a(4, std::vector<uint8_t>(n, 0)), b = a;
  for (size_t s = 0; s < 4; ++s)
    for (size_t i = 0; i < n / 10 * s; ++i) b[s][i] = 1;  // 0, 10, 20, 30 %
  const Interval d = bootstrap_difference(a, b).interval;
  REQUIRE(d.value == Approx(15));
  REQUIRE(d.low < 6);
  REQUIRE(d.high > 24);
}

TEST_CASE("statistics: the excess of one difference over another", "[statistics]") {
  const size_t n = 4000;
  const auto share = [&](double right) {  // seeds with the same items right
    std::vector<uint8_t> row(n, 0);
    std::fill(row.begin(), row.begin() + static_cast<int64_t>(right * static_cast<double>(n)), uint8_t{1});
    return Correct(3, row);
  };
  const Correct a = share(0.5), b = share(0.58), c = share(0.6), d = share(0.63);
  const Interval excess = bootstrap_excess(a, b, c, d).interval;
  REQUIRE(excess.value == Approx(5));
  // Items with b - a = 1 are 8 % of all, those with d - c = 1 are 3 % others: the variance of an item is .1075.
  const double half = 196 * std::sqrt((0.11 - 0.05 * 0.05) / static_cast<double>(n));
  REQUIRE(excess.low == Approx(5 - half).margin(0.06));
  REQUIRE(excess.high == Approx(5 + half).margin(0.06));
  const Interval wider = bootstrap_difference(a, b, 0.01).interval, usual = bootstrap_difference(a, b).interval;
  REQUIRE((usual.value - wider.low) / (usual.value - usual.low) == Approx(2.576 / 1.96).margin(0.06));
  REQUIRE_THROWS_WITH(bootstrap_excess(Correct(64, {1}), Correct(64, {1}), Correct(64, {1}), Correct(64, {1})),
                      Contains("64 seeds; at most 63"));
}

TEST_CASE("statistics: the ratio of paired blocks", "[statistics]") {
  const Interval r = ratio({10, 12, 8, 11, 9}, {20, 24, 16, 22, 18});
  REQUIRE(r.value == 2);
  REQUIRE(r.low == 2);
  REQUIRE(r.high == 2);
}

TEST_CASE("statistics: the mean over seeds alone", "[statistics]") {
  // Many seeds: the interval is the normal one, and the p value that of the normal distribution.
  std::vector<double> values;
  for (int i = 0; i < 400; ++i) values.push_back(0.1 + (i % 2 ? 1 : -1));  // deviation 1, error of the mean 1/20
  const Resampled r = bootstrap_mean(values);
  REQUIRE(r.interval.value == Approx(0.1));
  REQUIRE(r.interval.low == Approx(0.1 - 1.96 / 20).margin(0.006));
  REQUIRE(r.interval.high == Approx(0.1 + 1.96 / 20).margin(0.006));
  REQUIRE(r.p == Approx(std::erfc(2 / std::sqrt(2.0))).margin(0.01));  // two standard errors from 0: .0455
  // All on one side of 0: as small as so many draws can say. None: as large as can be.
  REQUIRE(bootstrap_mean({1, 2, 3}).p == Approx(2.0 / (bootstrap_draws + 1)));
  REQUIRE(bootstrap_mean({-1, -2, -3}).p == Approx(2.0 / (bootstrap_draws + 1)));
  REQUIRE(bootstrap_mean({0, 0}).p == 1);
}

TEST_CASE("statistics: any statistic of the runs", "[statistics]") {
  // With two runs there are four equally likely draws: maxima 1, 5, 5, 5.
  const std::vector<double> x{1, 5};
  std::vector<size_t> first;
  const Resampled most = bootstrap(2, [&](const std::vector<size_t>& drawn) {
    if (first.empty()) first = drawn;
    return std::max(x[drawn[0]], x[drawn[1]]);
  });
  REQUIRE(first == std::vector<size_t>{0, 1});
  REQUIRE(most.interval.value == 5);
  REQUIRE(most.interval.low == 1);
  REQUIRE(most.interval.high == 5);
}

TEST_CASE("statistics: the bootstrap refuses what does not fit together", "[statistics]") {
  const Correct two{{1, 0}, {1, 1}}, one{{1, 0}}, ragged{{1, 0}, {1}};
  REQUIRE_THROWS_WITH(bootstrap_difference(two, one), Contains("seeds: 2 and 1"));
  REQUIRE_THROWS_WITH(bootstrap_accuracy(ragged), Contains("2 and 1 items"));
  REQUIRE_THROWS_WITH(bootstrap_accuracy({}), Contains("no seeds"));
  REQUIRE_THROWS_WITH(ratio({1, 2}, {1}), Contains("2 and 1"));
  REQUIRE_THROWS_WITH(bootstrap_mean({}), Contains("no values"));
}
#endif
