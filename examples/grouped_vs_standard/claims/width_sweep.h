// Accuracy against the number of groups at one width: what the article's advice on groups is tested with (C27 to C29).
#pragma once
#include <string>

#include "grouped_vs_standard/claims/base.h"

namespace comparison {

struct WidthSweep {
  int64_t width = 0;
  std::vector<int64_t> groups{};                        ///< 1 stands for the standard layer
  std::vector<Comparison> against{};                    ///< each against the standard layer, at equal parameters
  size_t best = 0, best_in_band = 0, best_outside = 0;  ///< positions, by mean accuracy
  Interval band_minus_outside{};  ///< best inside the advised band minus best outside, corrected for having chosen them
  Comparison many_heads{};        ///< the standard layer with as many heads as the largest G, against its usual 4
};

/// One layer, 7x7 patches, 400 steps (200 above a width of 256, for the time they take); G = 1 (standard), 2, 4, 8, 16,
/// one head per group (standard: 4 heads). Ten seeds up to a width of 128, five to 384, three above.
WidthSweep width_sweep(Lab& lab, int64_t width, int64_t from, int64_t to);

/// The claim that `from` to `to` groups are best at these widths. Holds if at every width the best in the band is not
/// worse than the best outside and at some width better; refuted if at some width it is worse and at none better.
Finding judge_band(Lab& lab, const std::vector<int64_t>& widths, int64_t from, int64_t to);

}  // namespace comparison
