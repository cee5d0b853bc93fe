// pow, of ops/arithmetic.h.
#include "tutti/autograd/with_grad.h"
#include "tutti/backends/contract/make_view.h"
#include "tutti/backends/contract/unary.h"
#include "tutti/ops/arithmetic.h"
#include "tutti/ops/compare.h"
#include "tutti/ops/create.h"
#include "tutti/ops/unary.h"

namespace tutti {

Tensor pow(const Tensor& x, double exponent) {
  check_floating("pow", x);
  const Output y = output_like(x);
  kernel::pow_scalar::on(x.device())(elements(y, x), exponent);
  return with_grad("pow", y, {x}, {x}, [exponent](Saved& s, const Tensor& dy) {
    if (exponent == 0) return Grads{zeros_like(dy)};
    return Grads{mul(dy, mul(pow(s[0], exponent - 1), exponent))};
  });
}

Tensor pow(const Tensor& x, const Tensor& exponent) {
  check_floating("pow", x);
  check_same("pow", x, exponent, "x", "exponent");
  const Dims shape = broadcast("pow", x.shape(), exponent.shape());
  const Output y = output(shape, x.dtype(), x.device());
  kernel::pow::on(x.device())(elements(y, x, exponent));
  return with_grad("pow", y, {x, exponent}, {x, exponent, Keep(y, exponent.requires_grad())},
                   [](Saved& s, const Tensor& dy) {
                     const Tensor a = s[0], b = s[1];
                     Grads g(2);
                     // 0 where the exponent is 0; and 0^b does not change with b where b >= 0: its logarithm must not
                     // be met.
                     if (s.wants(0)) g[0] = mul(dy, where(eq(b, 0), zeros_like(b), mul(b, pow(a, sub(b, 1)))));
                     if (s.wants(1)) {
                       const Tensor constant = logical_and(eq(a, 0), ge(b, 0));
                       g[1] = mul(dy, mul(s[2], log(where(constant, ones_like(a), a))));
                     }
                     return g;
                   });
}

}  // namespace tutti
