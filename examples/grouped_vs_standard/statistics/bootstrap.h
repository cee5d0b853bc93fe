// Percentile bootstrap of whatever was measured seed by seed: 10000 draws, 95 % interval (Efron & Tibshirani 1993,
// chapter 13). All resampling is seeded: the same numbers every time. Lists that do not fit one another: ValueError.
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

/// Any statistic of n independent runs: `of(drawn)` gets n indices below n, first 0 ... n - 1 (that is the value), then
/// drawn ones.
Resampled bootstrap(size_t n, const std::function<double(const std::vector<size_t>& drawn)>& of);

/// Mean of values that are independent of one another, seeds alone: paired differences of a loss, say.
Resampled bootstrap_mean(const std::vector<double>& values);

/// Mean difference (b - a, in percent points) of paired runs on one test set; two-level: seeds are drawn, then items.
/// One seed: items alone.
Resampled bootstrap_difference(const Correct& a, const Correct& b);

/// The interval of bootstrap_difference.
Interval paired_difference(const Correct& a, const Correct& b);

/// Mean over seeds of one arm's accuracy (percent), the same two-level bootstrap.
Interval mean_accuracy(const Correct& correct);

/// Median of b[i] / a[i] over paired blocks, bootstrap over blocks.
Interval ratio(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace comparison
