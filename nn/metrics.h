// Measures of predictions.
#pragma once
#include "tutti/core/tensor.h"

#pragma GCC visibility push(default)
namespace tutti::metrics {

// Throughout: logits [N, classes] are floating, targets [N] integers. ShapeError if they do not fit each other,
// IndexError naming value and position for a target outside [0, classes). A row's prediction is its argmax (the first
// of equals).

/// Share of rows whose prediction is the target; NaN of no rows.
double accuracy(const Tensor& logits, const Tensor& target);
/// Share of rows whose target is among the k largest. IndexError unless 0 <= k <= classes.
double top_k_accuracy(const Tensor& logits, const Tensor& target, int64_t k);
/// Counts [classes, classes] (int64): row = target, column = prediction.
Tensor confusion_matrix(const Tensor& logits, const Tensor& target);
/// Mean over classes of the F1 score, 2 tp / (2 tp + fp + fn) (0 for a class that is neither predicted nor present).
double macro_f1(const Tensor& logits, const Tensor& target);

}  // namespace tutti::metrics
#pragma GCC visibility pop
