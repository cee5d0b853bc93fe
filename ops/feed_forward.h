// The position-wise feed-forward of a transformer (Vaswani et al. 2017) as one operation.
#pragma once
#include "tutti/core/tensor.h"
#include "tutti/ops/activation.h"

#pragma GCC visibility push(default)
namespace tutti {

/// linear(gelu(linear(x, up, up_bias)), down, down_bias): x [.., in], up [hidden, in], down [out, hidden], biases
/// [hidden] and [out] or undefined; the result is [.., out]. ShapeError, DTypeError and DeviceError as of `linear`.
/// On a CPU with many rows, what lies between the layers is worked on a few rows at a time, while it is in the cache,
/// and of it only what gelu is given is kept for backward: half the passes over memory, the same gradients.
Tensor feed_forward(const Tensor& x, const Tensor& up, const Tensor& up_bias, const Tensor& down,
                    const Tensor& down_bias, Gelu form = Gelu::erf);

}  // namespace tutti
#pragma GCC visibility pop
