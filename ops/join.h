// Joining and padding.
#pragma once
#include "tutti/core/number.h"
#include "tutti/core/tensor.h"

#pragma GCC visibility push(default)
namespace tutti {

/// Joined along an existing axis. ValueError on an empty list, ShapeError naming the tensor and axis that differ.
Tensor cat(const std::vector<Tensor>& tensors, int64_t axis = 0);
/// Tensors of one shape along a new axis.
Tensor stack(const std::vector<Tensor>& tensors, int64_t axis = 0);
/// Adds before[i] elements before and after[i] behind axis i, filled with `value`; negative amounts are a ValueError.
Tensor pad(const Tensor& x, const Dims& before, const Dims& after, Number value = 0);

}  // namespace tutti
#pragma GCC visibility pop
