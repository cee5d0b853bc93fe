// Speed and memory as the lab keeps them.
#pragma once
#include "grouped_vs_standard/claims/base.h"

namespace comparison {

/// Rates of b against a in interleaved blocks, alone on the machine.
struct SpeedRatio {
  double a = 0, b = 0;  ///< median steps per second
  Interval ratio{};     ///< b / a, of paired blocks
};
SpeedRatio speed_ratio(Lab& lab, const Setting& a, const Setting& b, int64_t blocks = 20, int64_t steps = 20);

/// Bytes of a training step: the allocator's high-water mark, and what the forward pass leaves for backward.
struct StepBytes {
  double peak = 0, kept = 0;
};
StepBytes step_bytes(Lab& lab, const Setting& setting);

/// Peak resident bytes of a process that does nothing but training steps of the headline's model: an arm of a match
/// mode whose standard model has so many layers. NaN while missing.
double resident_bytes(Lab& lab, Match match, bool grouped, int64_t layers);

/// One attention layer alone, batch 1, forward and backward over T tokens.
struct LayerCost {
  double bytes = 0;    ///< high-water mark above what was there before
  double seconds = 0;  ///< of the fastest of three passes
};
LayerCost layer_cost(Lab& lab, const examples::AttentionChoice& attention, int64_t width, int64_t tokens);

}  // namespace comparison
