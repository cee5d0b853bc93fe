// What attention_stats says of every layer of a model in training.
#pragma once
#include "grouped_vs_standard/claims/base.h"

namespace comparison {

/// Summed over the layers.
struct LayerStats {
  double layers = 0, flagged = 0;  ///< flagged: those with a warning
  double groups = 0, dead = 0;
  double least_variance = 1;       ///< smallest over largest variance of a layer's groups, the smallest of all layers
  double spread = 0, entropy = 0;  ///< means over the layers
};

/// After the setting's training (or its first `steps` steps), on the first 250 test samples; one for each seed. Blank
/// while missing. The setting's layers must be the grouped or the standard one.
std::vector<LayerStats> trained_layers(Lab& lab, const Setting& setting, int64_t k, int64_t steps = -1);

}  // namespace comparison
