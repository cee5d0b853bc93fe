#include "tutti/nn/conv.h"

#include <cmath>

#include "tutti/core/error.h"
#include "tutti/nn/init.h"
#include "tutti/nn/option.h"
#include "tutti/ops/conv.h"
#include "tutti/ops/create.h"

namespace tutti::nn {

Conv2d::Conv2d(Conv2dOptions o) : options_(o) {
  check_positive("Conv2d", "in", o.in);
  check_positive("Conv2d", "out", o.out);
  check_divides("Conv2d", "groups", o.groups, "in", o.in);
  check_divides("Conv2d", "groups", o.groups, "out", o.out);
  const auto check = [](const char* name, Size2d s) {
    check_positive("Conv2d", name, s.h);
    check_positive("Conv2d", name, s.w);
  };
  check("kernel", o.kernel);
  check("stride", o.stride);
  check("dilation", o.dilation);
  if (o.padding.h < 0 || o.padding.w < 0)
    throw ValueError(message("Conv2d: padding is ", o.padding.h, " x ", o.padding.w, "; it must not be negative"));
  weight = Parameter(zeros({o.out, o.in / o.groups, o.kernel.h, o.kernel.w}));
  if (o.bias) bias = Parameter(zeros({o.out}));
  const double bound = 1 / std::sqrt(static_cast<double>(o.in / o.groups * o.kernel.h * o.kernel.w));
  init::uniform_(weight, -bound, bound);
  if (o.bias) init::uniform_(bias, -bound, bound);
}

void Conv2d::children(Visitor& visit) {
  visit("weight", weight);
  visit("bias", bias);
}

Tensor Conv2d::forward(const Tensor& x) const {
  return conv2d(x, weight, bias,
                {.stride = options_.stride,
                 .padding = options_.padding,
                 .dilation = options_.dilation,
                 .groups = options_.groups});
}

}  // namespace tutti::nn
