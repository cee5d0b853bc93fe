#include "tutti/ops/flip.h"

#include "tutti/backends/contract/copy.h"
#include "tutti/backends/contract/make_fold.h"
#include "tutti/backends/contract/make_view.h"
#include "tutti/ops/detail/reversed.h"

namespace tutti {

Tensor flip(const Tensor& x, const Dims& axes) {
  check_defined("flip", "x", x);
  const unsigned mask = some_axes("flip", x, axes, /*keepdim=*/true).mask;
  const Output y = output_like(x);
  kernel::copy::on(x.device())(elements(y, detail::reversed(x, mask)));
  return with_grad("flip", y, {x}, [axes](Saved&, const Tensor& dy) { return Grads{flip(dy, axes)}; });
}

}  // namespace tutti
