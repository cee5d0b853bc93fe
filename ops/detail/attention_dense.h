// Attention composed of differentiable operations, which store [Tq, Tk] matrices as the fused kernels never do: the
// gradient of ops/attention.cpp for second derivatives, and the pieces that other composed attention needs.
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

/// Where a mask shows a key, bool: itself if it is bool, else where it is not -inf.
Tensor shown(const Tensor& mask);

/// Which keys a query sees: bool, [Tq, Tk] or what the mask broadcasts it to.
Tensor visible_keys(const Visibility& visibility, int64_t Tq, int64_t Tk, Device device);
/// Of the queries [begin, end) alone.
Tensor visible_keys(const Visibility& visibility, int64_t begin, int64_t end, int64_t Tq, int64_t Tk, Device device);

/// scores + mask (if it is floating), -inf where `hidden` (bool, broadcast to the scores); rows that see nothing are 0,
/// so that softmax gives them numbers. As in the fused kernels a finite mask stays finite, however negative: it never
/// loses against what is hidden.
Tensor visible_scores(const Tensor& scores, const Tensor& mask, const Tensor& hidden);

/// A tensor with 0 in place of what is not finite, so that a weight of 0 hides that: 0 * NaN is NaN.
struct FinitePart {
  explicit FinitePart(const Tensor& x, bool look = true);  ///< look = false: x as it is
  Tensor values;                                           ///< x itself if all of it is finite
  Tensor bad;                                              ///< bool: where x is not finite; undefined if nowhere
};
/// a b^T over the last axis, NaN where either row is not finite and the entry is not `hidden`; without a gradient
/// there.
Tensor products(const FinitePart& a, const FinitePart& b, const Tensor& hidden);
/// weights x for weights that are 0 where `hidden`: NaN only where something that is not finite is seen.
Tensor visible_sum(const Tensor& weights, const FinitePart& x, const Tensor& hidden);

/// The gradients of q, k and v [B, heads, T, D] (fewer k/v heads too); without dropout.
Grads dense_attention_backward(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& dy, double scale,
                               const Visibility& visibility);

/// The same for qkv [B, T, 3, H, D] and dy [B, T, H, D].
Tensor dense_packed_attention_backward(const Tensor& qkv, const Tensor& dy, double scale, const Visibility& visibility);

}  // namespace tutti
