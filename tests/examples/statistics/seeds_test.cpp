// Intervals of few seeds: Student's t by hand, and how often they cover what they should.
#if __has_include("grouped_vs_standard/statistics/seeds.h")
#include <cmath>
#include <random>

#include "grouped_vs_standard/statistics/moments.h"
#include "grouped_vs_standard/statistics/seeds.h"
#include "support/catch.h"

using namespace comparison;

TEST_CASE("statistics: few seeds have Student's interval, many the bootstrap's", "[statistics]") {
  const Interval three = mean_over_seeds({1, 2, 3});  // 2 +- 4.302653 / sqrt(3)
  REQUIRE(three.value == 2);
  REQUIRE(three.low == Approx(2 - 4.302653 / std::sqrt(3.0)).epsilon(1e-6));
  REQUIRE(three.high == Approx(2 + 4.302653 / std::sqrt(3.0)).epsilon(1e-6));
  const Interval one = mean_over_seeds({7});
  REQUIRE(one.low == 7);
  REQUIRE(one.high == 7);
  std::vector<double> many;
  for (int i = 0; i < 10; ++i) many.push_back(i);
  const Resampled plain = bootstrap(10, [&](const std::vector<size_t>& drawn) {
    double sum = 0;
    for (const size_t i : drawn) sum += many[i];
    return sum / 10;
  });
  REQUIRE(mean_over_seeds(many).low == plain.interval.low);
  REQUIRE(mean_over_seeds(many).high == plain.interval.high);
}

TEST_CASE("statistics: the jackknife of a mean is the mean, of other statistics their own", "[statistics]") {
  const std::vector<double> x{1, 2, 4, 8, 16};
  const auto mean_of = [&](const std::vector<size_t>& drawn) {
    std::vector<double> list;
    for (const size_t i : drawn) list.push_back(x[i]);
    return mean(list);
  };
  const Interval by_values = mean_over_seeds(x), by_pseudo_values = over_seeds(x.size(), mean_of);
  REQUIRE(by_pseudo_values.low == Approx(by_values.low));
  REQUIRE(by_pseudo_values.high == Approx(by_values.high));
  // The square of the mean: leaving i out gives ((31 - x_i) / 4)^2, so the pseudo-values are 5 m^2 - 4 ((31 - x_i) /
  // 4)^2.
  const Interval square = over_seeds(x.size(), [&](const auto& drawn) { return std::pow(mean_of(drawn), 2); });
  std::vector<double> pseudo;
  for (const double v : x) pseudo.push_back(5 * 6.2 * 6.2 - 4 * std::pow((31 - v) / 4, 2));
  const double reach = 2.776445 * standard_deviation(pseudo) / std::sqrt(5.0);  // t of 4 degrees of freedom
  REQUIRE(square.value == Approx(6.2 * 6.2));
  REQUIRE(square.low == Approx(6.2 * 6.2 - reach).epsilon(1e-6));
}

TEST_CASE("statistics: intervals of three and five seeds cover the mean as often as they say", "[statistics]") {
  std::mt19937_64 random(3);
  const auto normal = [&] {  // twelve uniform numbers: the same with every standard library
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += static_cast<double>(random() >> 11) / 9007199254740992.0;
    return sum;
  };
  for (const int seeds : {3, 5}) {
    int covered = 0;
    for (int experiment = 0; experiment < 300; ++experiment) {
      std::vector<double> values;
      for (int i = 0; i < seeds; ++i) values.push_back(normal());
      const Interval interval = mean_over_seeds(values);
      covered += interval.low <= 0 && interval.high >= 0;
    }
    REQUIRE(covered >= 0.92 * 300);  // the bootstrap's percentiles: about 225 and 252
    REQUIRE(covered <= 0.985 * 300);
  }
}

TEST_CASE("statistics: accuracies of few seeds", "[statistics]") {
  const size_t n = 1000;
  Correct a(3, std::vector<uint8_t>(n, 0)), b = a;
  for (size_t s = 0; s < 3; ++s)
    for (size_t i = 0; i < 100 * (s + 1); ++i) b[s][i] = 1;  // 10, 20, 30 points
  const Resampled d = accuracy_difference(a, b);
  const double error = 10 / std::sqrt(3.0);
  REQUIRE(d.interval.value == Approx(20));
  REQUIRE(d.interval.low == Approx(20 - 4.302653 * error).epsilon(1e-6));
  REQUIRE(d.interval.high == Approx(20 + 4.302653 * error).epsilon(1e-6));
  REQUIRE(d.p == Approx(0.0741799).epsilon(1e-5));  // t = 3.4641 with 2 degrees of freedom
  REQUIRE(accuracy_over_seeds(b).high == Approx(d.interval.high));
  REQUIRE(accuracy_over_seeds(b).low == 0);  // Student's would lie below
  REQUIRE(accuracy_excess(a, b, a, a).high == Approx(d.interval.high));
  REQUIRE(accuracy_difference(a, b, 0.01).interval.low == Approx(20 - 9.924843 * error).epsilon(1e-6));
}

TEST_CASE("statistics: the difference of independent estimates", "[statistics]") {
  const Interval d = independent_difference({10, 7, 12}, {4, 2, 8});
  REQUIRE(d.value == 6);
  REQUIRE(d.low == Approx(6 - 5));                // sqrt(3^2 + 4^2)
  REQUIRE(d.high == Approx(6 + std::sqrt(8.0)));  // sqrt(2^2 + 2^2)
}
#endif
