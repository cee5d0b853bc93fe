// What runs over seeds say. From ten seeds on: the bootstrap. Below, its percentiles are too narrow (of three values
// they are the range, which covers the mean of normal ones in 75 % of all cases instead of 95; of five in 84), so there
// the interval is widened to Student's t, and the p value raised to its: of a mean, of the values; of another
// statistic, of the jackknife's pseudo-values (Tukey 1958; Efron & Tibshirani 1993, chapter 11). One seed is left as it
// is.
#pragma once
#include "grouped_vs_standard/statistics/bootstrap.h"

namespace comparison {

inline constexpr size_t few_seeds = 10;  ///< below this many

/// Mean of values, one per seed.
Interval mean_over_seeds(const std::vector<double>& values);

/// A statistic of n seeds; it must bear being given n - 1 of them.
Interval over_seeds(size_t n, const Statistic& of);

/// Mean difference (b - a, in percent points) of runs paired by seed on one test set. `level`: see bootstrap.h.
Resampled accuracy_difference(const Correct& a, const Correct& b, double level = 0.05);

/// By how much the difference b - a exceeds the difference d - c, all four on one test set.
Interval accuracy_excess(const Correct& a, const Correct& b, const Correct& c, const Correct& d);

/// Mean accuracy of one arm (percent).
Interval accuracy_over_seeds(const Correct& correct);

/// a - b of estimates that share nothing, from their intervals (Zou & Donner 2008, "Construction of confidence limits
/// about effect measures", eq. 6).
Interval independent_difference(const Interval& a, const Interval& b);

}  // namespace comparison
