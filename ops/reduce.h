// Reductions over all elements or along axes. keepdim leaves reduced axes with size 1.
#pragma once
#include "tutti/core/tensor.h"

#pragma GCC visibility push(default)
namespace tutti {

/// Sums; integers and bool accumulate in, and give, int64. Floating sums are pairwise over fixed pieces: the same bits
/// on every thread count, and 1e6 times 0.1f is 100000.
Tensor sum(const Tensor& x);
Tensor sum(const Tensor& x, const Dims& axes, bool keepdim = false);
inline Tensor sum(const Tensor& x, int64_t axis, bool keepdim = false) { return sum(x, Dims{axis}, keepdim); }
/// Sums x down to `shape`, which must broadcast to x's shape: the reverse of expand.
Tensor sum_to(const Tensor& x, const Dims& shape);
/// Means; integers give float32; of nothing: NaN.
Tensor mean(const Tensor& x);
Tensor mean(const Tensor& x, const Dims& axes, bool keepdim = false);
inline Tensor mean(const Tensor& x, int64_t axis, bool keepdim = false) { return mean(x, Dims{axis}, keepdim); }
/// Variance with divisor n - correction (two passes; exactly 0 for equal values). Floating dtypes.
Tensor var(const Tensor& x);
Tensor var(const Tensor& x, const Dims& axes, double correction = 1, bool keepdim = false);
inline Tensor var(const Tensor& x, int64_t axis, double correction = 1, bool keepdim = false) {
  return var(x, Dims{axis}, correction, keepdim);
}
/// sqrt(var) (PyTorch's std; a function of that name would fight with the namespace). The gradient at 0 is 0.
Tensor stddev(const Tensor& x);
Tensor stddev(const Tensor& x, const Dims& axes, double correction = 1, bool keepdim = false);
inline Tensor stddev(const Tensor& x, int64_t axis, double correction = 1, bool keepdim = false) {
  return stddev(x, Dims{axis}, correction, keepdim);
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
