#include "tutti/ops/softmax.h"

#include "tutti/autograd/with_grad.h"
#include "tutti/backends/contract/make_lines.h"
#include "tutti/backends/contract/softmax.h"
#include "tutti/ops/arithmetic.h"
#include "tutti/ops/reduce.h"
#include "tutti/ops/unary.h"

namespace tutti {
namespace {

/// Fused, unless the gradient's own graph is wanted.
Tensor backward(const char* op, const Tensor& y, const Tensor& dy, int dim, bool log) {
  if (grad_mode()) {
    if (log) return sub(dy, mul(exp(y), sum(dy, dim, true)));
    return mul(y, sub(dy, sum(mul(y, dy), dim, true)));
  }
  Output dx = output_like(y);
  kernel::softmax_backward::on(y.device())(lines(dx, dim, y, dy), log);
  return gradient_unavailable(op, dx, {y, dy});
}

Tensor forward(const char* op, const Tensor& x, int64_t axis, bool log) {
  check_floating(op, x);
  const int dim = normalize_dim(op, axis, x);
  Output y = output_like(x);
  kernel::softmax_forward::on(x.device())(lines(y, dim, x), log);
  return with_grad(op, y, {x}, {y},
                   [op, dim, log](Saved& s, const Tensor& dy) { return Grads{backward(op, s[0], dy, dim, log)}; });
}

}  // namespace

Tensor softmax(const Tensor& x, int64_t axis) { return forward("softmax", x, axis, false); }
Tensor log_softmax(const Tensor& x, int64_t axis) { return forward("log_softmax", x, axis, true); }

}  // namespace tutti
