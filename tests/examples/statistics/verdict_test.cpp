// The words of the verdicts at both sides of every border.
#if __has_include("grouped_vs_standard/statistics/verdict.h")
#include <cmath>

#include "grouped_vs_standard/statistics/verdict.h"
#include "support/catch.h"

using namespace comparison;

TEST_CASE("verdict: a ratio is equal if its whole interval is within 2 % of 1", "[verdict]") {
  REQUIRE(is_equal({1, 0.981, 1.019}));
  REQUIRE_FALSE(is_equal({1, 0.98, 1.01}));
  REQUIRE_FALSE(is_equal({1, 0.99, 1.02}));
  REQUIRE_FALSE(is_equal({1, std::nan(""), std::nan("")}));
}

TEST_CASE("statistics: the words of a verdict", "[statistics]") {
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

TEST_CASE("statistics: the verdict on a claimed effect", "[statistics]") {
  REQUIRE(claim_verdict({1, 0.2, 2}) == "holds");
  REQUIRE(claim_verdict({0.2, 0.1, 0.3}, 1) == "holds");
  REQUIRE(claim_verdict({-1, -2, -0.2}) == "refuted");
  REQUIRE(claim_verdict({0, -0.9, 0.9}, 1) == "refuted");
  REQUIRE(claim_verdict({0, -0.9, 0.9}) == "undecided");
  REQUIRE(claim_verdict({0, -1.1, 0.9}, 1) == "undecided");
  REQUIRE(claim_verdict({NAN, NAN, NAN}, 1) == "undecided");
  REQUIRE(no_loss_verdict({-0.5, -0.9, -0.1}) == "holds");
  REQUIRE(no_loss_verdict({-0.5, -1.1, -0.1}) == "undecided");
  REQUIRE(no_loss_verdict({-2, -3, -1.1}) == "refuted");
  REQUIRE(no_loss_verdict({NAN, NAN, NAN}) == "undecided");
  REQUIRE(both("holds", "holds") == "holds");
  REQUIRE(both("holds", "refuted") == "undecided");
  REQUIRE(with_protocol("holds", 9, 10) == "holds (below protocol)");
  REQUIRE(with_protocol("holds", 10, 10) == "holds");
}
#endif
