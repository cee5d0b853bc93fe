// Random tensors, and dropout. Element i depends on (seed, stream, i) alone: the same on every thread count and device.
#pragma once
#include "tutti/core/generator.h"
#include "tutti/ops/create.h"

#pragma GCC visibility push(default)
namespace tutti {

/// Uniform in [0, 1), with 24 bits (float32), 53 (float64), 11 (float16) or 8 (bfloat16): never rounded up to 1.
Tensor rand(const Dims& shape, TensorOptions options = {}, Generator& generator = default_generator());
/// Standard normal (Box & Muller 1958, core/box_muller.h): the same bits on every instruction set. DTypeError unless
/// floating.
Tensor randn(const Dims& shape, TensorOptions options = {}, Generator& generator = default_generator());
/// Uniform integers in [low, high). ValueError if there are none, or if the dtype does not hold every one (bfloat16: up
/// to 256).
Tensor randint(int64_t low, int64_t high, const Dims& shape, TensorOptions options = {.dtype = DType::int64},
               Generator& generator = default_generator());
/// 1 with probability p, else 0. ValueError unless 0 <= p <= 1.
Tensor bernoulli(double p, const Dims& shape, TensorOptions options = {}, Generator& generator = default_generator());
/// A random order of 0 .. n-1 (int64).
Tensor randperm(int64_t n, Generator& generator = default_generator(), Device device = default_device());
/// Zeroes elements with probability p and scales the others by 1 / (1 - p); p = 1 gives zeros. Not training: x itself.
/// Keeps (seed, stream) for the gradient, not a mask. ValueError unless 0 <= p <= 1.
Tensor dropout(const Tensor& x, double p, bool training = true, Generator& generator = default_generator());

}  // namespace tutti
#pragma GCC visibility pop
