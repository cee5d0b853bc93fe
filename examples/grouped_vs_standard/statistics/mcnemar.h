// McNemar's test: two models on one test set of n items, one run each.
#pragma once
#include <cstdint>
#include <vector>

#include "grouped_vs_standard/statistics/interval.h"

namespace comparison {

struct McNemar {
  int64_t only_a = 0, only_b = 0;  ///< items that only this one got right: the discordant ones
  double p = 1;                    ///< two-sided
  bool exact = true;
};

/// Fewer than 25 discordant items: exact binomial, p = min(1, 2 P(X <= min)), X ~ B(n, 1/2). Else chi-square with one
/// degree of freedom and Edwards' continuity correction, (|only_a - only_b| - 1)^2 / (only_a + only_b), as R's
/// mcnemar.test.
McNemar mcnemar(int64_t only_a, int64_t only_b);

/// From which items each got right (0 or 1), in the same order.
McNemar mcnemar(const std::vector<uint8_t>& a, const std::vector<uint8_t>& b);

/// The difference b - a in percent points on `items` items, with Wald's 95 % interval for paired proportions,
/// 1.96 sqrt(only_a + only_b - (only_b - only_a)^2 / n) / n (Fleiss, Levin & Paik 2003, 13.1).
Interval difference(const McNemar& m, int64_t items);

}  // namespace comparison
