// Transforms of image batches [B, H, W] or [B, C, H, W], drawn from (key, sample position): repeatable, on any number
// of threads and on any device.
#pragma once
#include <functional>
#include <vector>

#include "tutti/core/generator.h"
#include "tutti/core/tensor.h"

#pragma GCC visibility push(default)
namespace tutti::data {

/// From a batch of inputs and a key that names this pass over it to the transformed batch. May run on a loader's own
/// thread.
using Transform = std::function<Tensor(const Tensor& batch, RandomKey key)>;

/// (x - mean) / stddev, of any shape; integers become float32. ValueError unless stddev is positive.
Transform normalize(double mean, double stddev);
/// Each image moved by up to `pixels` in both directions (all of its channels alike), filled with `fill`. Keeps the
/// dtype. ValueError if pixels is negative or the dtype cannot hold `fill`, ShapeError unless there are 3 or 4 axes.
Transform random_shift(int64_t pixels, double fill = 0);
/// Each image mirrored left to right with probability p. Otherwise as random_shift.
Transform random_flip(double p = 0.5);
/// One after another, each with a key of its own.
Transform compose(std::vector<Transform> transforms);

}  // namespace tutti::data
#pragma GCC visibility pop
