// The tuned headline: each arm at the learning rate that was best for it on validation images, after the same trials.
#pragma once
#include <array>

#include "grouped_vs_standard/claims/base.h"

namespace comparison {

struct TunedHeadline {
  std::array<Setting, 2> arms{};      ///< standard and grouped, at their rates
  std::vector<double> rates{};        ///< what was tried, for both
  std::vector<double> accuracy[2]{};  ///< mean over two seeds, percent of 5000 validation images, by rate
};

/// Four rates, two seeds (101 and 102) each, on training images set apart; the best mean decides. While trials are
/// missing, and in a quick run, which makes none, the rates are base::headline_tuned()'s.
TunedHeadline tuned_headline(Lab& lab);

/// Its comparison on the test images: ten seeds, twenty if an arm's accuracy deviates by more than 1.5 points between
/// them. Not asked for before the trials are there.
inline constexpr int64_t tuned_seeds = 10;
Comparison compare_tuned(Lab& lab, const TunedHeadline& tuned);

}  // namespace comparison
