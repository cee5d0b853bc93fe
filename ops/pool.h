// Pooling of images [N, C, H, W].
#pragma once
#include "tutti/core/tensor.h"
#include "tutti/ops/window.h"

#pragma GCC visibility push(default)
namespace tutti {

/// Of max_pool2d and avg_pool2d.
struct PoolOptions {
  Size2d stride = 0;    ///< between windows; 0: the kernel's size
  Size2d padding = 0;   ///< on both sides; at most half of the kernel
  Size2d dilation = 1;  ///< between a window's elements
};

/// The largest element of each window: [N, C, H', W'], H' = (H + 2 padding - dilation (kernel - 1) - 1) / stride + 1. A
/// NaN beats everything; the gradient goes to the first of equals; padding never wins. ValueError names an option that
/// is out of range, ShapeError an image that no window fits.
Tensor max_pool2d(const Tensor& x, Size2d kernel, const PoolOptions& options = {});
/// The mean of each window, padding counted as zeros (PyTorch's count_include_pad).
Tensor avg_pool2d(const Tensor& x, Size2d kernel, const PoolOptions& options = {});

}  // namespace tutti
#pragma GCC visibility pop
