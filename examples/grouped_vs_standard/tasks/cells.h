// Cells in high-content microscopy, poorly or well segmented: 56 measurements in 9 families.
#pragma once
#include "grouped_vs_standard/tasks/task.h"

namespace comparison {

/// 2019 cells of two classes, 1009 to train on and 1010 to test on. The tokens are families of measurements: size,
/// shape, neighbours, brightness in each of the four channels, texture in channels 3 and 4 (data/convert.py has the
/// names). x is [N, 9, 9] float32, scaled by the training part.
Task cells(const TaskSpec& spec);

}  // namespace comparison
