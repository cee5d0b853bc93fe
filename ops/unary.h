// Elementwise functions of one tensor (floating dtypes, unless said otherwise).
#pragma once
#include "tutti/core/number.h"
#include "tutti/core/tensor.h"

#pragma GCC visibility push(default)
namespace tutti {

Tensor neg(const Tensor& x);    ///< integers too
Tensor abs(const Tensor& x);    ///< integers too; the gradient at 0 is 0
Tensor exp(const Tensor& x);    ///< e^x
Tensor log(const Tensor& x);    ///< natural; NaN below 0
Tensor log1p(const Tensor& x);  ///< log(1 + x), exact near 0
Tensor sqrt(const Tensor& x);
Tensor rsqrt(const Tensor& x);       ///< 1 / sqrt(x)
Tensor reciprocal(const Tensor& x);  ///< 1 / x
Tensor square(const Tensor& x);      ///< x x
Tensor sin(const Tensor& x);         ///< of radians
Tensor cos(const Tensor& x);         ///< of radians
Tensor tanh(const Tensor& x);
/// x limited to [low, high]; NaN stays NaN; integers too. The gradient passes where low <= x <= high. ValueError if low
/// > high.
Tensor clamp(const Tensor& x, Number low, Number high);

inline Tensor operator-(const Tensor& x) { return neg(x); }

}  // namespace tutti
#pragma GCC visibility pop
