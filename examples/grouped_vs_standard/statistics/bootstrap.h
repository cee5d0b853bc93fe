// Percentile bootstrap: 10000 draws, an interval that leaves out the share `level` (0.05: the 95 % interval) (Efron &
// Tibshirani 1993, chapter 13). All resampling is seeded: the same numbers every time. Lists that do not fit one
// another: ValueError. Of few seeds it is too narrow: seeds.h.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "grouped_vs_standard/statistics/interval.h"

namespace comparison {

inline constexpr int bootstrap_draws = 10000;

/// correct[seed][item]: 1 where that seed's model was right. All seeds share one test set.
using Correct = std::vector<std::vector<uint8_t>>;

struct Resampled {
  Interval interval;
  double p = 1;  ///< two-sided, that the value is 0: 2 (1 + draws on the rarer side of 0) / (1 + draws), at most 1
};

/// A statistic of independent runs: of those whose indices it is given.
using Statistic = std::function<double(const std::vector<size_t>& drawn)>;

/// Any statistic of n independent runs: first of 0 ... n - 1 (that is the value), then of drawn ones.
Resampled bootstrap(size_t n, const Statistic& of, double level = 0.05);

/// Mean difference (b - a, in percent points) of paired runs on one test set; two-level: seeds are drawn, then items.
/// One seed: items alone.
Resampled bootstrap_difference(const Correct& a, const Correct& b, double level = 0.05);

/// Mean of (b - a) - (d - c), likewise; all four on one test set.
Resampled bootstrap_excess(const Correct& a, const Correct& b, const Correct& c, const Correct& d);

/// Mean over seeds of one arm's accuracy (percent), the same two-level bootstrap.
Resampled bootstrap_accuracy(const Correct& correct);

/// Median of b[i] / a[i] over paired blocks, bootstrap over blocks.
Interval ratio(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace comparison
