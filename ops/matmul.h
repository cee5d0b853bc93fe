// Matrix products.
#pragma once
#include "tutti/core/tensor.h"

#pragma GCC visibility push(default)
namespace tutti {

/// NumPy's matmul: [.., m, k] @ [.., k, n] with broadcast batches; a 1-d operand gains an axis that the result loses.
/// Transposed and sliced operands are used as they are, without a copy. float32 and float64 (the half types by way of
/// float32). ShapeError "matmul: shapes [2, 3] and [4, 5] do not multiply at axis 1 (3 vs 4)".
Tensor matmul(const Tensor& a, const Tensor& b);
/// [B, m, k] @ [B, k, n]; no broadcasting.
Tensor bmm(const Tensor& a, const Tensor& b);

}  // namespace tutti
#pragma GCC visibility pop
