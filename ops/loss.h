// Losses.
#pragma once
#include "tutti/core/tensor.h"

#pragma GCC visibility push(default)
namespace tutti {

/// What becomes of the losses of all positions.
enum class Reduction { none, mean, sum };

/// How cross_entropy counts.
struct CrossEntropyOptions {
  double label_smoothing = 0;             ///< in [0, 1]
  int64_t ignore_index = -100;            ///< positions with this target add neither loss nor gradient
  Tensor weight{};                        ///< [classes], or undefined; AutogradError if it wants a gradient
  Reduction reduction = Reduction::mean;  ///< mean: over the (weights of the) positions that count; none count: 0
};

/// Cross-entropy of logits [N, classes] (or [.., classes]) against int64 class indices [N] ([..]).
/// IndexError naming value, position and range for a target outside [0, classes).
Tensor cross_entropy(const Tensor& logits, const Tensor& target, const CrossEntropyOptions& options = {});
/// (x - target)^2.
Tensor mse_loss(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean);
/// -(target log sigmoid(x) + (1 - target) log(1 - sigmoid(x))), without overflow.
Tensor binary_cross_entropy_with_logits(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean);

}  // namespace tutti
#pragma GCC visibility pop
