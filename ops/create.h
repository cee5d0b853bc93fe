// New tensors, on the default device (core/device.h) unless said otherwise. None of them requires a gradient.
#pragma once
#include "tutti/core/number.h"
#include "tutti/core/tensor.h"

#pragma GCC visibility push(default)
namespace tutti {

/// Of which dtype, and where.
struct TensorOptions {
  DType dtype = DType::float32;
  Device device = default_device();
};

Tensor empty(const Dims& shape, TensorOptions options = {});  ///< uninitialised
Tensor zeros(const Dims& shape, TensorOptions options = {});
Tensor ones(const Dims& shape, TensorOptions options = {});
/// All elements `value`: ValueError if an integer dtype cannot hold it (bool: value != 0).
Tensor full(const Dims& shape, Number value, TensorOptions options = {});
/// Of the shape, dtype and device of x.
Tensor zeros_like(const Tensor& x);
Tensor ones_like(const Tensor& x);
Tensor full_like(const Tensor& x, Number value);
/// begin, begin + step, ... before end: ceil((end - begin) / step) elements; exact in integer dtypes, whose begin and
/// step must be integers. ValueError if step is 0 or leads away, or if the dtype does not hold the elements.
Tensor arange(Number begin, Number end, Number step = 1, TensorOptions options = {});
inline Tensor arange(int64_t n, TensorOptions options = {.dtype = DType::int64}) { return arange(0, n, 1, options); }
/// n evenly spaced values from begin to end, both included; computed in float64.
Tensor linspace(double begin, double end, int64_t n, TensorOptions options = {});
/// The identity matrix [n, n].
Tensor eye(int64_t n, TensorOptions options = {});

}  // namespace tutti
#pragma GCC visibility pop
