// Associative recall at growing lengths, which two claims look at.
#pragma once
#include <array>

#include "grouped_vs_standard/claims/scenarios.h"

namespace comparison {

inline constexpr std::array<int64_t, 2> recall_lengths = {64, 128};
inline constexpr int64_t recall_seeds = 5;

/// The scenario "recall" at a length, with 600 steps at each: the lengths then differ in nothing else, and 256 tokens
/// take minutes.
inline Setting recall_setting(int64_t length) {
  Setting s = scenario("recall").standard;
  s.task.length = length;
  s.training.steps = 600;
  return s;
}

}  // namespace comparison
