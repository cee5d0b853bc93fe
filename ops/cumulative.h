// Running sums, and products.
#pragma once
#include "tutti/core/tensor.h"

#pragma GCC visibility push(default)
namespace tutti {

/// y[i] = x[0] + ... + x[i] along an axis, added up in float64 and rounded once. Integers and bool give int64, which
/// wraps around.
Tensor cumsum(const Tensor& x, int64_t axis);
/// The product of all elements, multiplied in float64 and rounded once; integers and bool give int64, which wraps
/// around. Of nothing: 1. The gradient is right where elements are 0 too. Its own gradient is composed, and takes
/// memory for the square of a product's length.
Tensor prod(const Tensor& x);
/// The products along an axis.
Tensor prod(const Tensor& x, int64_t axis, bool keepdim = false);

}  // namespace tutti
#pragma GCC visibility pop
