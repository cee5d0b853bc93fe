// A convolutional layer.
#pragma once
#include "tutti/nn/module.h"
#include "tutti/ops/window.h"

#pragma GCC visibility push(default)
namespace tutti::nn {

struct Conv2dOptions {
  int64_t in = 0, out = 0;  ///< channels
  Size2d kernel = 0;
  Size2d stride = 1;
  Size2d padding = 0;  ///< zeros on both sides
  Size2d dilation = 1;
  int64_t groups = 1;
  bool bias = true;
};

/// conv2d over images; weight [out, in / groups, kernel.h, kernel.w], bias [out], both uniform within
/// 1 / sqrt(in / groups * kernel.h * kernel.w) at the start, as in PyTorch.
class Conv2d : public Callable<Conv2d> {
 public:
  /// ValueError unless in, out, kernel, stride and dilation are positive, padding is not negative, and groups divides
  /// in and out.
  explicit Conv2d(Conv2dOptions options);
  void children(Visitor& visit) override;
  /// x [N, in, H, W] to [N, out, H', W'] (ops/conv.h).
  Tensor forward(const Tensor& x) const;
  Parameter weight, bias;

 private:
  Conv2dOptions options_;
};

}  // namespace tutti::nn
#pragma GCC visibility pop
