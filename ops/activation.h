// Activation functions.
#pragma once
#include "tutti/core/tensor.h"

#pragma GCC visibility push(default)
namespace tutti {

/// Which form of GELU.
enum class Gelu { erf, tanh };

/// 1 / (1 + exp(-x)), with full relative accuracy for negative x.
Tensor sigmoid(const Tensor& x);
/// max(x, 0); NaN stays NaN; the gradient at 0 is 0.
Tensor relu(const Tensor& x);
/// x Phi(x) (Hendrycks & Gimpel 2016): exact, written with erfc, or the tanh form, written with the logistic function,
/// so that both keep full relative accuracy for negative x.
Tensor gelu(const Tensor& x, Gelu form = Gelu::erf);
/// x sigmoid(x).
Tensor silu(const Tensor& x);

}  // namespace tutti
#pragma GCC visibility pop
