// Softmax along an axis of any layout.
#pragma once
#include "tutti/core/tensor.h"

#pragma GCC visibility push(default)
namespace tutti {

/// exp(x) / sum(exp(x)), shifted by the row's maximum. A row of -inf gives NaN, as the formula says.
Tensor softmax(const Tensor& x, int64_t axis);
/// x - logsumexp(x).
Tensor log_softmax(const Tensor& x, int64_t axis);

}  // namespace tutti
#pragma GCC visibility pop
