// Reductions over all elements or along axes. keepdim leaves reduced axes with size 1.
#pragma once
#include "tutti/core/tensor.h"

#pragma GCC visibility push(default)
namespace tutti {

/// Sums; integers and bool accumulate in, and give, int64. Floating sums are pairwise over fixed pieces: the same bits
/// on every thread count, and 1e6 times 0.1f is 100000.
Tensor sum(const Tensor& x);
/// Along some axes (none: nothing is added up). IndexError out of range, ValueError for an axis given twice; the same
/// for mean, var, stddev and norm.
Tensor sum(const Tensor& x, const Dims& axes, bool keepdim = false);
Tensor sum(const Tensor& x, Integer auto axis, bool keepdim = false) {
  return sum(x, Dims{static_cast<int64_t>(axis)}, keepdim);
}
/// Sums x down to `shape`, which must broadcast to x's shape: the reverse of expand.
Tensor sum_to(const Tensor& x, const Dims& shape);
/// Means; integers give float32; of nothing: NaN.
Tensor mean(const Tensor& x);
Tensor mean(const Tensor& x, const Dims& axes, bool keepdim = false);
Tensor mean(const Tensor& x, Integer auto axis, bool keepdim = false) {
  return mean(x, Dims{static_cast<int64_t>(axis)}, keepdim);
}
/// Variance with divisor n - correction (two passes; exactly 0 for equal values). Floating dtypes.
Tensor var(const Tensor& x);
Tensor var(const Tensor& x, const Dims& axes, double correction = 1, bool keepdim = false);
Tensor var(const Tensor& x, Integer auto axis, double correction = 1, bool keepdim = false) {
  return var(x, Dims{static_cast<int64_t>(axis)}, correction, keepdim);
}
/// sqrt(var) (PyTorch's std; a function of that name would fight with the namespace). The gradient at 0 is 0.
Tensor stddev(const Tensor& x);
Tensor stddev(const Tensor& x, const Dims& axes, double correction = 1, bool keepdim = false);
Tensor stddev(const Tensor& x, Integer auto axis, double correction = 1, bool keepdim = false) {
  return stddev(x, Dims{static_cast<int64_t>(axis)}, correction, keepdim);
}
/// p-norm (p > 0, or infinity): (sum |x|^p)^(1/p), scaled so that it does not overflow. The gradient at 0 is 0.
Tensor norm(const Tensor& x, double p = 2);
Tensor norm(const Tensor& x, double p, const Dims& axes, bool keepdim = false);
/// log(sum(exp(x))) along an axis, without overflow; -inf for a row of -inf.
Tensor logsumexp(const Tensor& x, int64_t axis, bool keepdim = false);
/// Whether any / all elements are true (bool in, bool out). Of nothing: false / true.
Tensor any(const Tensor& x);
Tensor any(const Tensor& x, int64_t axis, bool keepdim = false);
Tensor all(const Tensor& x);
Tensor all(const Tensor& x, int64_t axis, bool keepdim = false);

}  // namespace tutti
#pragma GCC visibility pop
