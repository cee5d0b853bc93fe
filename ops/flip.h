// Elements in the opposite order.
#pragma once
#include "tutti/core/tensor.h"

#pragma GCC visibility push(default)
namespace tutti {

/// A copy of x with the order along each of these axes reversed. IndexError for an axis out of range, ValueError for
/// one given twice.
Tensor flip(const Tensor& x, const Dims& axes);
Tensor flip(const Tensor& x, Integer auto axis) { return flip(x, Dims{static_cast<int64_t>(axis)}); }

}  // namespace tutti
#pragma GCC visibility pop
