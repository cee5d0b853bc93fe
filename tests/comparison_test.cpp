// The parts of grouped_vs_standard: statistics against known values, the arms against the article's formulae.
#if __has_include("grouped_vs_standard/arms.h")
#include <cmath>

#include "grouped_vs_standard/arms.h"
#include "grouped_vs_standard/statistics.h"
#include "support/catch.h"

using namespace comparison;

TEST_CASE("statistics: moments and medians", "[comparison]") {
  REQUIRE(mean({1, 2, 6}) == 3);
  REQUIRE(standard_deviation({2, 4, 4, 4, 5, 5, 7, 9}) == Approx(2.138089935));
  REQUIRE(standard_deviation({5}) == 0);
  REQUIRE(median({3, 1, 2}) == 2);
  REQUIRE(median({4, 1, 2, 3}) == 2.5);
}

TEST_CASE("statistics: the bootstrap interval of a difference", "[comparison]") {
  // One seed, items independent: the interval must be the normal one, p +- 1.96 sqrt(p (1 - p) / n).
  const size_t n = 10000;
  std::vector<std::vector<uint8_t>> none(1, std::vector<uint8_t>(n, 0)), some = none;
  for (size_t i = 0; i < 300; ++i) some[0][i] = 1;
  const Interval d = paired_difference(none, some);
  REQUIRE(d.value == Approx(3));
  const double half = 196 * std::sqrt(0.03 * 0.97 / static_cast<double>(n));
  REQUIRE(d.low == Approx(3 - half).margin(0.03));
  REQUIRE(d.high == Approx(3 + half).margin(0.03));
  REQUIRE(paired_difference(some, some).value == 0);
  REQUIRE(paired_difference(some, some).high == 0);
  REQUIRE(mean_accuracy(some).value == Approx(3));
  REQUIRE(paired_difference(none, some).low == d.low);  // repeatable
}

TEST_CASE("statistics: seeds widen the interval", "[comparison]") {
  const size_t n = 2000;
  std::vector<std::vector<uint8_t>> a(4, std::vector<uint8_t>(n, 0)), b = a;
  for (size_t s = 0; s < 4; ++s)
    for (size_t i = 0; i < n / 10 * s; ++i) b[s][i] = 1;  // 0, 10, 20, 30 %
  const Interval d = paired_difference(a, b);
  REQUIRE(d.value == Approx(15));
  REQUIRE(d.low < 6);
  REQUIRE(d.high > 24);
}

TEST_CASE("statistics: the ratio of paired blocks", "[comparison]") {
  const Interval r = ratio({10, 12, 8, 11, 9}, {20, 24, 16, 22, 18});
  REQUIRE(r.value == 2);
  REQUIRE(r.low == 2);
  REQUIRE(r.high == 2);
}

TEST_CASE("statistics: the words of a verdict", "[comparison]") {
  REQUIRE(accuracy_verdict({3.5, 2.9, 4.1}, 3.2) == "better, agrees");
  REQUIRE(accuracy_verdict({0.5, 0.1, 0.9}, 3.2) == "better, refuted");
  REQUIRE(accuracy_verdict({5, 4, 6}, 3.2) == "better, exceeds");
  REQUIRE(accuracy_verdict({-2, -3, -1}, 3.2) == "worse, refuted");
  REQUIRE(accuracy_verdict({0, -0.9, 0.9}, 3.2) == "equivalent, refuted");
  REQUIRE(accuracy_verdict({0, -1.5, 1.5}, 3.2) == "undecided, refuted");
  REQUIRE(accuracy_verdict({2, -1, 5}, 3.2) == "undecided, undecided");
  REQUIRE(ratio_verdict({0.959, 0.95, 0.97}, 0.9593, "faster", "slower") == "slower, agrees");
  REQUIRE(ratio_verdict({1.0, 0.985, 1.015}, 0.9593, "faster", "slower") == "equal, differs");
  REQUIRE(ratio_verdict({1.1, 1.05, 1.15}, 0.9593, "faster", "slower") == "faster, differs");
  REQUIRE(ratio_verdict({1.0, 0.9, 1.1}, 0.9593, "faster", "slower") == "undecided, agrees");
}

TEST_CASE("arms: parameters are the module's own count and equal within 0.1 %", "[comparison]") {
  for (int64_t dim : {64, 128})
    for (int64_t layers : {2, 4}) {
      Protocol p;
      p.dim = dim;
      p.layers = layers;
      const auto equal = make_arms(p, Match::equal_ffn), same = make_arms(p, Match::same_width);
      for (const auto& arms : {equal, same})
        for (const Arm& arm : arms) REQUIRE(examples::Classifier(arm.model).parameter_count() == arm.parameters);
      REQUIRE(parameter_gap(equal) < 1e-3);
      // The article's formula for the attention layer: C^2 (1 + 3/G) + 4C against 4C^2 + 4C.
      REQUIRE(same[0].parameters - same[1].parameters == layers * 3 * (dim * dim - dim * dim / 4));
      // equal_ffn: r' = r + 1.5 (1 - 1/G) = 5.125 at G = 4, so equal work too.
      REQUIRE(static_cast<double>(equal[1].model.hidden[0]) == Approx(5.125 * static_cast<double>(dim)).epsilon(0.01));
      REQUIRE(equal[1].forward_flops == Approx(equal[0].forward_flops).epsilon(0.003));
    }
  REQUIRE_THROWS_WITH(match_from("x"), "match 'x': expected equal_ffn or same_width");
}
#endif
