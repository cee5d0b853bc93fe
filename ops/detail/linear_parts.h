// What linear and feed_forward share. For ops/.
#pragma once
#include "tutti/core/tensor.h"

namespace tutti::detail {

/// What linear asks of its arguments. `width`: of an input that is like x but for its last axis.
void check_linear(const char* op, const Tensor& x, const Tensor& weight, const Tensor& bias, int64_t width = -1);
/// Of every block of the weight, dy's slice transposed times x's slice, summed over all leading axes. No gradient.
Tensor weight_gradient(const Tensor& dy, const Tensor& x, const Dims& weight_shape);
/// Sum over all axes but the last.
Tensor column_sum(const Tensor& dy);

}  // namespace tutti::detail
