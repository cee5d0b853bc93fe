// The next token, drawn from a language model's logits.
#pragma once
#include "tutti/core/generator.h"
#include "tutti/core/tensor.h"

#pragma GCC visibility push(default)
namespace tutti::nn {

/// Applied in this order.
struct SampleOptions {
  double temperature = 1;  ///< logits are divided by it; 0: the largest is taken, and nothing is drawn
  int64_t top_k = 0;       ///< only the k largest (the first of equals); 0: all
  /// Only the most probable ones, as many as it takes for their probabilities to add up to p, at least one (nucleus
  /// sampling, Holtzman et al. 2020).
  double top_p = 1;
};

/// Indices drawn by softmax(logits / temperature), cut down by top_k and top_p: logits [V] give one (0-d, int64),
/// [B, V] give [B]. Computed in float64; a token whose logit is -inf is never drawn. The same seed of the generator
/// draws the same tokens. ValueError on an option out of range, or if a row's largest logit is not finite; ShapeError
/// unless there are logits to draw from. Waits for the device.
Tensor sample(const Tensor& logits, const SampleOptions& options = {}, Generator& generator = default_generator());

}  // namespace tutti::nn
#pragma GCC visibility pop
