#include "relu_squared.h"

#include <tutti/autograd/with_grad.h>
#include <tutti/backends/contract/make_view.h>
#include <tutti/ops/activation.h>
#include <tutti/ops/arithmetic.h>

#include "kernel.h"

using namespace tutti;

namespace mine {
namespace {

/// d(y)/d(x) · dy. While a second derivative is being recorded it is written with differentiable operations; otherwise
/// the fused kernel does it in one pass.
Tensor gradient(const Tensor& x, const Tensor& dy) {
  if (grad_mode()) return mul(mul(relu(x), 2), dy);
  const Output dx = output_like(x);
  relu_squared_backward::on(x.device())(elements(dx, x, dy));
  return no_gradient(dx);
}

}  // namespace

Tensor relu_squared(const Tensor& x) {
  check_defined("relu_squared", "x", x);
  check_floating("relu_squared", x);
  const Output y = output_like(x);
  relu_squared_forward::on(x.device())(elements(y, x));
  return with_grad("relu_squared", y, /*inputs*/ {x}, /*saved*/ {x},
                   [](Saved& s, const Tensor& dy) { return Grads{gradient(s[0], dy)}; });
}

}  // namespace mine
