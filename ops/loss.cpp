#include "tutti/ops/loss.h"

#include "tutti/autograd/with_grad.h"
#include "tutti/backends/contract/loss.h"
#include "tutti/backends/contract/make_view.h"
#include "tutti/core/error.h"
#include "tutti/ops/activation.h"
#include "tutti/ops/arithmetic.h"
#include "tutti/ops/reduce.h"
#include "tutti/ops/unary.h"

namespace tutti {
namespace {

Tensor reduce(const Tensor& loss, Reduction reduction) {
  return reduction == Reduction::mean ? mean(loss) : reduction == Reduction::sum ? sum(loss) : loss;
}

void check_same_shape(const char* op, const Tensor& x, const Tensor& target) {
  check_floating(op, x);
  check_same(op, x, target, "x", "target");
  if (!(x.shape() == target.shape()))
    throw ShapeError(message(op, ": shapes ", x.shape(), " and ", target.shape(), " of x and target differ"));
}

}  // namespace

Tensor mse_loss(const Tensor& x, const Tensor& target, Reduction reduction) {
  check_same_shape("mse_loss", x, target);
  return reduce(square(sub(x, target)), reduction);
}

Tensor binary_cross_entropy_with_logits(const Tensor& x, const Tensor& target, Reduction reduction) {
  const char* const op = "binary_cross_entropy_with_logits";
  check_same_shape(op, x, target);
  Output y = output_like(x);
  kernel::bce_with_logits::on(x.device())(elements(y, x, target));
  const Tensor loss = with_grad(op, y, {x, target}, {x, target}, [](Saved& s, const Tensor& dy) {
    return Grads{s.wants(0) ? mul(dy, sub(sigmoid(s[0]), s[1])) : Tensor(), s.wants(1) ? neg(mul(dy, s[0])) : Tensor()};
  });
  return reduce(loss, reduction);
}

}  // namespace tutti
