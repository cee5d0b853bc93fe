#include "tutti/ops/reduce.h"

#include "tutti/autograd/with_grad.h"
#include "tutti/backends/contract/make_fold.h"
#include "tutti/backends/contract/make_view.h"
#include "tutti/backends/contract/reduce.h"
#include "tutti/core/error.h"
#include "tutti/ops/arithmetic.h"
#include "tutti/ops/detail/unchanged.h"
#include "tutti/ops/shape.h"

namespace tutti {
namespace {

Tensor divided_sum(const char* op, const Tensor& x, const Axes& axes, double divisor, DType dtype) {
  Output y = output(axes.shape, dtype, x.device());
  kernel::sum::on(x.device())(fold(x, axes, y), divisor);
  return with_grad(op, y, {x}, [ones = axes.ones, from = x.shape(), divisor](Saved&, const Tensor& dy) {
    // The mean of nothing is NaN, but no element depends on it: its gradient's own derivative is 0.
    const Tensor scaled = divisor == 1 ? dy : divisor == 0 ? mul(dy, 0) : div(dy, divisor);
    return Grads{expand(scaled.shape() == ones ? scaled : reshape(scaled, ones), from)};
  });
}

Tensor sum_over(const Tensor& x, const Axes& axes) {
  return divided_sum("sum", x, axes, 1, is_floating(x.dtype()) ? x.dtype() : DType::int64);
}

Tensor mean_over(const Tensor& x, const Axes& axes) {
  return divided_sum("mean", x, axes, static_cast<double>(axes.count),
                     is_floating(x.dtype()) ? x.dtype() : DType::float32);
}

}  // namespace

Tensor sum(const Tensor& x) { return sum_over(x, all_axes("sum", x)); }
Tensor sum(const Tensor& x, const Dims& axes, bool keepdim) { return sum_over(x, some_axes("sum", x, axes, keepdim)); }

Tensor mean(const Tensor& x) { return mean_over(x, all_axes("mean", x)); }
Tensor mean(const Tensor& x, const Dims& axes, bool keepdim) {
  return mean_over(x, some_axes("mean", x, axes, keepdim));
}

Tensor sum_to(const Tensor& x, const Dims& shape) {
  check_defined("sum_to", "x", x);
  if (x.shape() == shape) return detail::unchanged(x);
  const int lead = x.rank() - shape.n;
  bool fits = lead >= 0;
  Dims axes;
  for (int i = 0; fits && i < x.rank(); ++i) {
    const int64_t want = i < lead ? 1 : shape[i - lead];
    fits = want == x.shape()[i] || want == 1;
    if (i < lead || want != x.shape()[i]) axes.push(i);
  }
  if (!fits) throw ShapeError(message("sum_to: shape ", x.shape(), " is not a broadcast of ", shape));
  const Tensor y = sum(x, axes, /*keepdim=*/true);
  return lead > 0 ? reshape(y, shape) : y;
}

}  // namespace tutti
