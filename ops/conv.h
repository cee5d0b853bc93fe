// Convolution of images.
#pragma once
#include "tutti/core/tensor.h"
#include "tutti/ops/window.h"

#pragma GCC visibility push(default)
namespace tutti {

/// Of conv2d.
struct ConvOptions {
  Size2d stride = 1;    ///< between windows
  Size2d padding = 0;   ///< zeros on both sides
  Size2d dilation = 1;  ///< between a window's elements
  int64_t groups = 1;   ///< the channels fall into groups that do not see each other
};

/// Cross-correlation, as everyone's conv2d: y[n, o, i, k] = bias[o] + the sum over c, a, b of weight[o, c, a, b]
/// x[n, c, i stride + a dilation - padding, ..]. x [N, C, H, W], weight [O, C / groups, KH, KW], bias [O] or undefined;
/// y [N, O, H', W'], H' = (H + 2 padding - dilation (KH - 1) - 1) / stride + 1. float32 and float64 (the half types by
/// way of float32). Windows are laid out for one product of matrices (im2col), some images at a time; backward lays
/// them out again instead of keeping them. ShapeError, DTypeError, DeviceError or ValueError names what does not fit.
Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, const ConvOptions& options = {});

}  // namespace tutti
#pragma GCC visibility pop
