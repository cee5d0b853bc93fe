// The parts of ops/reduce.h that are more than a sum: variance, norm, logsumexp, any and all.
#include <algorithm>
#include <cmath>

#include "tutti/autograd/with_grad.h"
#include "tutti/backends/contract/make_fold.h"
#include "tutti/backends/contract/make_lines.h"
#include "tutti/backends/contract/reduce.h"
#include "tutti/backends/contract/softmax.h"
#include "tutti/core/error.h"
#include "tutti/ops/arithmetic.h"
#include "tutti/ops/compare.h"
#include "tutti/ops/copy.h"
#include "tutti/ops/create.h"
#include "tutti/ops/reduce.h"
#include "tutti/ops/shape.h"
#include "tutti/ops/softmax.h"
#include "tutti/ops/unary.h"

namespace tutti {
namespace {

Tensor keep(const Tensor& y, const Dims& ones) { return y.shape() == ones ? y : reshape(y, ones); }

/// The axes of a mask.
Dims list(unsigned mask, int rank) {
  Dims axes;
  for (int i = 0; i < rank; ++i)
    if (mask >> i & 1u) axes.push(i);
  return axes;
}

Tensor variance(const char* op, const Tensor& x, const Axes& axes, double correction, bool root) {
  check_floating(op, x);
  Output y = output(axes.shape, x.dtype(), x.device());
  const double divisor = std::max(0.0, static_cast<double>(axes.count) - correction);
  kernel::variance::on(x.device())(fold(x, axes, y), divisor, root);
  return with_grad(op, y, {x}, {x, Keep(y, root)},
                   [mask = axes.mask, ones = axes.ones, divisor, root](Saved& s, const Tensor& dy) {
                     const Tensor x0 = s[0];
                     // Halves: the difference of two numbers in range need not be. A deviation of 0 divides to 0.
                     Tensor half = sub(mul(x0, 0.5), mul(mean(x0, list(mask, x0.rank()), true), 0.5));
                     if (root) {
                       const Tensor y0 = keep(s[1], ones);
                       half = div(half, masked_fill(y0, eq(y0, 0), INFINITY));
                     }
                     return Grads{mul(half, mul(keep(dy, ones), (root ? 2 : 4) / divisor))};
                   });
}

/// d with the sign of x: 0 where x is 0, NaN where it is NaN. Chosen, not multiplied: 0 times an infinite d is NaN.
Tensor with_sign(const Tensor& d, const Tensor& x) {
  return where(gt(x, 0), d, where(lt(x, 0), neg(d), where(isnan(x), x.detach(), zeros_like(x))));
}

Tensor p_norm(const Tensor& x, double p, const Axes& axes) {
  check_floating("norm", x);
  if (!(p > 0)) throw ValueError(message("norm: p must be positive, not ", p));
  Output y = output(axes.shape, x.dtype(), x.device());
  kernel::norm::on(x.device())(fold(x, axes, y), p);
  return with_grad("norm", y, {x}, {x, y}, [mask = axes.mask, ones = axes.ones, p](Saved& s, const Tensor& dy) {
    const Tensor x0 = s[0], y0 = keep(s[1], ones), d = keep(dy, ones), none = eq(y0, 0);
    if (std::isinf(p)) {  // the largest share it evenly
      const Tensor hidden = logical_or(lt(abs(x0), y0), none);
      const Tensor count = sum(to(logical_not(hidden), x0.dtype()), list(mask, x0.rank()), true);
      return Grads{masked_fill(with_sign(div(d, clamp(count, 1, INFINITY)), x0), hidden, 0)};
    }
    if (p == 2) return Grads{mul(x0, masked_fill(div(d, y0), none, 0))};
    if (p == 1) return Grads{with_sign(d, x0)};
    // In float32 for the half types: the power of a small share would leave their range.
    const DType wide = size_of(x0.dtype()) == 2 ? DType::float32 : x0.dtype();
    const Tensor u = masked_fill(div(to(x0, wide), to(y0, wide)), none, 0);
    return Grads{to(mul(masked_fill(mul(u, pow(abs(u), p - 2)), eq(u, 0), 0), to(d, wide)), x0.dtype())};
  });
}

Tensor count_true(const char* op, const Tensor& x, const Axes& axes) {
  check_dtype(op, "x", x, DType::boolean);
  Output y = output(axes.shape, DType::int64, x.device());
  kernel::sum::on(x.device())(fold(x, axes, y), 1);
  return no_gradient(y);
}
Tensor any_of(const Tensor& x, const Axes& axes) { return ne(count_true("any", x, axes), 0); }
Tensor all_of(const Tensor& x, const Axes& axes) { return eq(count_true("all", x, axes), axes.count); }

}  // namespace

Tensor var(const Tensor& x) { return variance("var", x, all_axes("var", x), 1, false); }
Tensor var(const Tensor& x, const Dims& axes, double correction, bool keepdim) {
  return variance("var", x, some_axes("var", x, axes, keepdim), correction, false);
}
Tensor stddev(const Tensor& x) { return variance("stddev", x, all_axes("stddev", x), 1, true); }
Tensor stddev(const Tensor& x, const Dims& axes, double correction, bool keepdim) {
  return variance("stddev", x, some_axes("stddev", x, axes, keepdim), correction, true);
}

Tensor norm(const Tensor& x, double p) { return p_norm(x, p, all_axes("norm", x)); }
Tensor norm(const Tensor& x, double p, const Dims& axes, bool keepdim) {
  return p_norm(x, p, some_axes("norm", x, axes, keepdim));
}

Tensor logsumexp(const Tensor& x, int64_t axis, bool keepdim) {
  check_floating("logsumexp", x);
  const Axes axes = some_axes("logsumexp", x, {axis}, keepdim);
  Output y = output(axes.shape, x.dtype(), x.device());
  kernel::log_sum_exp::on(x.device())(lines(normalize_dim("logsumexp", axis, x), x), y.data());
  // Not exp(x - y): beside a large maximum y has lost the logarithm.
  return with_grad("logsumexp", y, {x}, {x, y}, [ones = axes.ones, axis](Saved& s, const Tensor& dy) {
    const Tensor weights = masked_fill(softmax(s[0], axis), eq(keep(s[1], ones), -INFINITY), 0);
    return Grads{mul(weights, keep(dy, ones))};
  });
}

Tensor any(const Tensor& x) { return any_of(x, all_axes("any", x)); }
Tensor any(const Tensor& x, int64_t axis, bool keepdim) { return any_of(x, some_axes("any", x, {axis}, keepdim)); }
Tensor all(const Tensor& x) { return all_of(x, all_axes("all", x)); }
Tensor all(const Tensor& x, int64_t axis, bool keepdim) { return all_of(x, some_axes("all", x, {axis}, keepdim)); }

}  // namespace tutti
