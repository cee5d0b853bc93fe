// Transforms of image batches [B, H, W] or [B, C, H, W], drawn from (key, sample position): repeatable.
#pragma once
#include <functional>
#include <vector>

#include "tutti/core/generator.h"
#include "tutti/core/tensor.h"

#pragma GCC visibility push(default)
namespace tutti::data {

/// From a batch of inputs and a key that names this pass over the data to the transformed batch.
using Transform = std::function<Tensor(const Tensor& batch, RandomKey key)>;

/// (x - mean) / stddev.
Transform normalize(double mean, double stddev);
/// Each image moved by up to `pixels` in both directions, filled with `fill`.
Transform random_shift(int64_t pixels, double fill = 0);
/// Each image mirrored left to right with probability p.
Transform random_flip(double p = 0.5);
/// One after another, each with a key of its own.
Transform compose(std::vector<Transform> transforms);

}  // namespace tutti::data
#pragma GCC visibility pop
