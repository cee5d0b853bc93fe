// Copies: of values, to another dtype, to another device, into an existing tensor.
#pragma once
#include "tutti/core/number.h"
#include "tutti/core/tensor.h"

#pragma GCC visibility push(default)
namespace tutti {

/// A contiguous copy in new storage.
Tensor clone(const Tensor& x);
/// x itself if it has that dtype. Floats to integers truncate (what does not fit becomes the nearest
/// that does, NaN 0), integers to smaller ones wrap around; to bool: x != 0.
Tensor to(const Tensor& x, DType dtype);
/// x itself if it is there.
Tensor to(const Tensor& x, Device device);
/// Writes values (broadcast, converted to the target's dtype) into `target` in place. Not recorded, so that outside
/// no_grad it is an AutogradError if one of the two requires a gradient.
void copy_(const Tensor& target, const Tensor& values);
/// Writes one value into all of `target`; not recorded. ValueError if an integer target cannot hold it.
void fill_(const Tensor& target, Number value);

}  // namespace tutti
#pragma GCC visibility pop
