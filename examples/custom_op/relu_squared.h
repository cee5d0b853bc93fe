// An operation that Tutti does not have: the squared ReLU.
#pragma once
#include <tutti/core/tensor.h>

namespace mine {

/// max(x, 0)^2 elementwise (So et al. 2021, "Primer"), floating dtypes; NaN stays NaN. Differentiable twice and more.
tutti::Tensor relu_squared(const tutti::Tensor& x);

}  // namespace mine
