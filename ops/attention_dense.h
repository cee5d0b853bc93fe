// For ops/attention.cpp: the gradient of attention written with differentiable operations, for second derivatives. It
// stores [Tq, Tk] matrices, which the fused kernels never do.
#pragma once
#include "tutti/autograd/node.h"

namespace tutti {

/// The gradients of q, k and v [B, heads, T, D] (fewer k/v heads too); without dropout. Query i sees key j if nearest
/// <= i + Tk - Tq - j <= farthest and the mask (bool or additive, may be undefined) allows it.
Grads dense_attention_backward(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& dy, const Tensor& mask,
                               double scale, int64_t nearest, int64_t farthest);

/// The same for qkv [B, T, 3, H, D] and dy [B, T, H, D].
Tensor dense_packed_attention_backward(const Tensor& qkv, const Tensor& dy, const Tensor& mask, double scale,
                                       int64_t nearest, int64_t farthest);

}  // namespace tutti
