// For ops/attention.cpp: the gradient of attention written with differentiable operations, for second derivatives. It
// stores [Tq, Tk] matrices, which the fused kernels never do. For other composed attention: which keys a query sees.
#pragma once
#include "tutti/autograd/node.h"

namespace tutti {

/// Query i sees key j if nearest <= i + Tk - Tq - j <= farthest, and the mask (bool or additive) and the layout of
/// blocks allow it; both may be undefined.
struct Visibility {
  int64_t nearest, farthest;
  Tensor mask{}, layout{};
  int64_t block = 0;
};

/// Which keys a query sees: bool, [Tq, Tk] or what the mask broadcasts it to.
Tensor visible_keys(const Visibility& visibility, int64_t Tq, int64_t Tk, Device device);

/// The gradients of q, k and v [B, heads, T, D] (fewer k/v heads too); without dropout.
Grads dense_attention_backward(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& dy, double scale,
                               const Visibility& visibility);

/// The same for qkv [B, T, 3, H, D] and dy [B, T, H, D].
Tensor dense_packed_attention_backward(const Tensor& qkv, const Tensor& dy, double scale, const Visibility& visibility);

}  // namespace tutti
