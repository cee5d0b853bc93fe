// Measures of predictions.
#pragma once
#include "tutti/core/tensor.h"

#pragma GCC visibility push(default)
namespace tutti::metrics {

/// Share of rows of logits [N, classes] whose argmax is the target [N].
double accuracy(const Tensor& logits, const Tensor& target);
/// Share of rows whose target is among the k largest.
double top_k_accuracy(const Tensor& logits, const Tensor& target, int64_t k);
/// Counts [classes, classes] (int64): row = target, column = prediction.
Tensor confusion_matrix(const Tensor& logits, const Tensor& target);
/// Mean over classes of the F1 score (0 for a class that is neither predicted nor present).
double macro_f1(const Tensor& logits, const Tensor& target);

}  // namespace tutti::metrics
#pragma GCC visibility pop
