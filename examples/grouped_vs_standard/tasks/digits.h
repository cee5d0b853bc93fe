// Handwritten digits of 8x8 pixels: the quick task.
#pragma once
#include "grouped_vs_standard/tasks/task.h"

namespace comparison {

/// 1797 images in 10 classes; the last 360 are the test set, up to 1437 (the default) are trained on. spec.patch
/// (1, 2 or 4; default 2) is the side of a patch: tokens are (8 / patch)^2 patches of patch^2 pixels. x is float32
/// [N, 64], 0 to 1. spec.shuffled permutes the pixels.
Task digits(const TaskSpec& spec);

}  // namespace comparison
