// Tensor and axes -> Fold: for ops. Kernels include fold.h only.
#pragma once
#include "tutti/backends/contract/fold.h"
#include "tutti/core/tensor.h"

#pragma GCC visibility push(default)
namespace tutti {

/// Which axes of a shape are reduced, checked.
struct Axes {
  unsigned mask;  // bit i: axis i is reduced
  Dims ones;      // the shape with size 1 at reduced axes
  Dims shape;     // the result's: `ones`, or without those axes
  int64_t count;  // elements per result
};
/// Every axis. ValueError if x is undefined.
Axes all_axes(const char* op, const Tensor& x, bool keepdim = false);
/// IndexError for an axis out of range, ValueError for one given twice. No axes: nothing is reduced.
Axes some_axes(const char* op, const Tensor& x, const Dims& axes, bool keepdim);

/// y has the shape `axes.shape`.
Fold fold(const Tensor& x, const Axes& axes, const Output& y);

}  // namespace tutti
#pragma GCC visibility pop
