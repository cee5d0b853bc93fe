#include "tutti/ops/cumulative.h"

#include "tutti/autograd/with_grad.h"
#include "tutti/backends/contract/cumulative.h"
#include "tutti/backends/contract/make_lines.h"
#include "tutti/ops/arithmetic.h"
#include "tutti/ops/compare.h"
#include "tutti/ops/copy.h"
#include "tutti/ops/create.h"
#include "tutti/ops/detail/reversed.h"
#include "tutti/ops/reduce.h"
#include "tutti/ops/shape.h"

namespace tutti {
namespace {

/// Running sums from the first element to the last, or (backward) from the last to the first.
Tensor running_sum(const Tensor& x, int dim, bool backward) {
  const Output y = output_like(x);
  const unsigned turned = backward ? 1u << dim : 0;
  const Output to = detail::reversed(y, turned);
  kernel::cumsum::on(x.device())(lines(to, dim, detail::reversed(x, turned)));
  return with_grad("cumsum", y, {x},
                   [dim, backward](Saved&, const Tensor& dy) { return Grads{running_sum(dy, dim, !backward)}; });
}

/// dy times, for each element of a line, the product of the others. dy has size 1 along the axis.
Tensor times_the_others(const Tensor& x, const Tensor& dy, int dim) {
  if (grad_mode()) {  // as it is written: a matrix of the line's copies, each with 1 in its own place
    const int64_t n = x.shape()[dim];
    const Tensor own = eye(n, {DType::boolean, x.device()});
    const Tensor line = unsqueeze(transpose(x, dim, -1), -2);
    const Tensor others = prod(where(own, ones({}, {x.dtype(), x.device()}), line), -1);
    return mul(transpose(others, dim, -1), dy);
  }
  // The product of what is not 0, divided by each; where something is 0, only that one sees more than 0 in the others.
  const Tensor zero = eq(x, 0), safe = masked_fill(x, zero, 1);
  const Tensor zeros_there = sum(zero, dim, /*keepdim=*/true);
  const Tensor alone = logical_or(eq(zeros_there, 0), logical_and(zero, eq(zeros_there, 1)));
  return masked_fill(mul(div(prod(safe, dim, /*keepdim=*/true), safe), dy), logical_not(alone), 0);
}

/// Keeps the axis, with size 1.
Tensor product(const Tensor& x, int dim) {
  Dims ones = x.shape();
  ones[dim] = 1;
  const Output y = output(ones, x.dtype(), x.device());
  kernel::prod::on(x.device())(lines(dim, x), y.data());
  return with_grad("prod", y, {x}, {x},
                   [dim](Saved& s, const Tensor& dy) { return Grads{times_the_others(s[0], dy, dim)}; });
}

Tensor summable(const char* op, const Tensor& x) {
  check_defined(op, "x", x);
  return is_floating(x.dtype()) ? x : to(x, DType::int64);
}

}  // namespace

Tensor cumsum(const Tensor& x, int64_t axis) {
  const Tensor numbers = summable("cumsum", x);
  return running_sum(numbers, normalize_dim("cumsum", axis, x), /*backward=*/false);
}

Tensor prod(const Tensor& x) {
  const Tensor numbers = summable("prod", x);
  return reshape(product(reshape(numbers, {x.numel()}), 0), {});
}

Tensor prod(const Tensor& x, int64_t axis, bool keepdim) {
  const Tensor numbers = summable("prod", x);
  const int dim = normalize_dim("prod", axis, x);
  if (x.rank() == 0) return prod(x);
  const Tensor y = product(numbers, dim);
  return keepdim ? y : squeeze(y, dim);
}

}  // namespace tutti
