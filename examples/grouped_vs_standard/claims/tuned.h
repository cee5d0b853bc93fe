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

/// Its comparison on the test images, ten seeds. Not asked for before the trials are there.
Comparison compare_tuned(Lab& lab, const TunedHeadline& tuned);

}  // namespace comparison
