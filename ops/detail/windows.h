// All windows of an image side by side, as a view; what convolution and pooling stand on.
#pragma once
#include "tutti/core/tensor.h"
#include "tutti/ops/window.h"

namespace tutti::detail {

/// How a window lies: its size, how far apart windows are, what is added around the image, how far apart a window's own
/// elements are.
struct Window {
  Size2d size, stride, padding, dilation;

  /// ValueError of `op` that names the option that is out of range.
  void check(const char* op) const;
  /// How many windows an image [N, C, H, W] has. ShapeError if x is none, or smaller than a window.
  Size2d count(const char* op, const Tensor& x) const;
};

/// x [N, C, H, W] -> [N, C, size.h, size.w, count.h, count.w], a view; `padding` is not looked at. The gradient adds
/// up where windows overlap.
Tensor windows(const Tensor& x, const Window& w, Size2d count);
/// The reverse: all windows added up in an image of this shape, each element in a fixed order.
Tensor unite(const Tensor& y, const Window& w, const Dims& image);
/// x with `value` around it.
Tensor padded(const Tensor& x, Size2d padding, double value = 0);

}  // namespace tutti::detail
