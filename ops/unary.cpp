#include "tutti/ops/unary.h"

#include "tutti/autograd/with_grad.h"
#include "tutti/backends/contract/make_view.h"
#include "tutti/core/error.h"
#include "tutti/ops/detail/unary_rule.h"

namespace tutti {

Tensor neg(const Tensor& x) { return detail::unary(Unary::neg, x); }
Tensor abs(const Tensor& x) { return detail::unary(Unary::abs, x); }
Tensor exp(const Tensor& x) { return detail::unary(Unary::exp, x); }
Tensor log(const Tensor& x) { return detail::unary(Unary::log, x); }
Tensor log1p(const Tensor& x) { return detail::unary(Unary::log1p, x); }
Tensor sqrt(const Tensor& x) { return detail::unary(Unary::sqrt, x); }
Tensor rsqrt(const Tensor& x) { return detail::unary(Unary::rsqrt, x); }
Tensor reciprocal(const Tensor& x) { return detail::unary(Unary::reciprocal, x); }
Tensor square(const Tensor& x) { return detail::unary(Unary::square, x); }
Tensor sin(const Tensor& x) { return detail::unary(Unary::sin, x); }
Tensor cos(const Tensor& x) { return detail::unary(Unary::cos, x); }
Tensor tanh(const Tensor& x) { return detail::unary(Unary::tanh, x); }

namespace {
Tensor clamp_gradient(const Tensor& dy, const Tensor& x, Number low, Number high) {
  const Output dx = output_like(dy);
  kernel::clamp_backward::on(dy.device())(elements(dx, dy, x), low, high);
  return with_grad("clamp", dx, {dy}, {x}, [low, high](Saved& s, const Tensor& g) {
    return Grads{clamp_gradient(g, s.constant(0), low, high)};
  });
}
}  // namespace

Tensor clamp(const Tensor& x, Number low, Number high) {
  check_defined("clamp", "x", x);
  const bool range = low.is_integer() && high.is_integer() ? low.whole() <= high.whole() : low.real() <= high.real();
  if (!range) throw ValueError(message("clamp: low ", low, " and high ", high, " are no range"));
  check_number("clamp", low, x.dtype());
  check_number("clamp", high, x.dtype());
  const Output y = output_like(x);
  kernel::clamp::on(x.device())(elements(y, x), low, high);
  return with_grad("clamp", y, {x}, {x},
                   [low, high](Saved& s, const Tensor& dy) { return Grads{clamp_gradient(dy, s[0], low, high)}; });
}

}  // namespace tutti
