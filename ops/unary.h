// Elementwise functions of one tensor (floating dtypes, unless said otherwise).
#pragma once
#include "tutti/core/tensor.h"

#pragma GCC visibility push(default)
namespace tutti {

Tensor neg(const Tensor& x);  ///< integers too
Tensor abs(const Tensor& x);  ///< integers too; the gradient at 0 is 0
Tensor exp(const Tensor& x);
Tensor log(const Tensor& x);
Tensor log1p(const Tensor& x);
Tensor sqrt(const Tensor& x);
Tensor rsqrt(const Tensor& x);
Tensor reciprocal(const Tensor& x);
Tensor square(const Tensor& x);
Tensor sin(const Tensor& x);
Tensor cos(const Tensor& x);
Tensor tanh(const Tensor& x);
/// x limited to [low, high]; NaN stays NaN; integers too. The gradient passes where low <= x <= high. ValueError if low
/// > high.
Tensor clamp(const Tensor& x, double low, double high);

inline Tensor operator-(const Tensor& x) { return neg(x); }

}  // namespace tutti
#pragma GCC visibility pop
