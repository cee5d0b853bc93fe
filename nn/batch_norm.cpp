#include "tutti/nn/batch_norm.h"

#include "tutti/autograd/node.h"
#include "tutti/core/check.h"
#include "tutti/core/error.h"
#include "tutti/nn/option.h"
#include "tutti/ops/arithmetic.h"
#include "tutti/ops/create.h"
#include "tutti/ops/reduce.h"
#include "tutti/ops/shape.h"
#include "tutti/ops/unary.h"

namespace tutti::nn {
namespace {

/// running += momentum (seen - running), in place.
void follow(const Tensor& running, const Tensor& seen, double momentum) {
  running *= 1 - momentum;
  running += reshape(seen, running.shape()) * momentum;
}

}  // namespace

BatchNorm2d::BatchNorm2d(BatchNorm2dOptions o) : options_(o) {
  check_positive("BatchNorm2d", "channels", o.channels);
  check_eps("BatchNorm2d", "eps", o.eps);
  check_probability("BatchNorm2d", "momentum", o.momentum);
  if (o.affine) {
    weight = Parameter(ones({o.channels}));
    bias = Parameter(zeros({o.channels}));
  }
  running_mean = Buffer(zeros({o.channels}));
  running_var = Buffer(ones({o.channels}));
  num_batches_tracked = Buffer(zeros({}, {.dtype = DType::int64}));
}

void BatchNorm2d::children(Visitor& visit) {
  visit("weight", weight);
  visit("bias", bias);
  visit("running_mean", running_mean);
  visit("running_var", running_var);
  visit("num_batches_tracked", num_batches_tracked);
}

Tensor BatchNorm2d::forward(const Tensor& x) const {
  check_floating("BatchNorm2d", x);
  if (x.rank() != 4 || x.size(1) != options_.channels)
    throw ShapeError(message("BatchNorm2d: input ", x.shape(), " is not [N, ", options_.channels, ", H, W]"));
  const Dims per_channel{options_.channels, 1, 1};
  Tensor centre = reshape(running_mean, per_channel), spread = reshape(running_var, per_channel);
  if (training()) {
    const int64_t n = x.size(0) * x.size(2) * x.size(3);
    if (n < 2)
      throw ValueError(message("BatchNorm2d: a channel of input ", x.shape(), " has ", n,
                               " element(s); training needs two, for a variance"));
    centre = mean(x, {0, 2, 3}, /*keepdim=*/true);
    spread = var(x, {0, 2, 3}, /*correction=*/0, /*keepdim=*/true);
    const no_grad off;
    const double unbiased = static_cast<double>(n) / static_cast<double>(n - 1);
    follow(running_mean, centre, options_.momentum);
    follow(running_var, spread * unbiased, options_.momentum);
    num_batches_tracked += 1;
  }
  Tensor scale = rsqrt(spread + options_.eps);
  if (!options_.affine) return (x - centre) * scale;
  scale = scale * reshape(weight, per_channel);
  return (x - centre) * scale + reshape(bias, per_channel);
}

}  // namespace tutti::nn
