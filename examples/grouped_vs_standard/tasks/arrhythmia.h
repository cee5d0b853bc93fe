// Electrocardiograms of 13 classes: 15 general measurements and 22 of each of the 12 leads.
#pragma once
#include "grouped_vs_standard/tasks/task.h"

namespace comparison {

/// 452 patients, 302 to train on and 150 to test on, the classes in proportion in both parts (the rarest has two). The
/// tokens are the general measurements (padded with zeros) and the leads: x is [N, 13, 22] float32. Missing values
/// become the training part's median.
Task arrhythmia(const TaskSpec& spec);

}  // namespace comparison
