// Draws of positions by weights.
#pragma once
#include "tutti/core/generator.h"
#include "tutti/core/tensor.h"

#pragma GCC visibility push(default)
namespace tutti {

/// Positions drawn with probabilities proportional to weights [V] or [B, V] (floating, finite, not negative; they need
/// not add up to 1): int64 [num_samples] or [B, num_samples]. Without replacement a position is drawn once at most, by
/// the exponential race (Efraimidis & Spirakis 2006), in the order of drawing. A weight of 0 is never drawn. Computed
/// in float64; draw i depends on (seed, stream, i) alone. Waits for the device, to check: ValueError if a weight is
/// negative or not finite, or if there are fewer weights above 0 than draws of them need.
Tensor multinomial(const Tensor& weights, int64_t num_samples, bool replacement = false,
                   Generator& generator = default_generator());

}  // namespace tutti
#pragma GCC visibility pop
