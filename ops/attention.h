// Scaled dot-product attention: fused, tiled, memory linear in the number of tokens.
#pragma once
#include "tutti/core/tensor.h"

#pragma GCC visibility push(default)
namespace tutti {

/// What a query may see, and how scores are treated.
struct AttentionOptions {
  /// bool (true = may attend) or floating (added to the scores), broadcast to [B, H, Tq, Tk]; may be undefined.
  Tensor mask{};
  /// Query i sees keys up to i + Tk - Tq: aligned to the end (bottom right).
  bool causal = false;
  /// > 0: query i sees only keys within window - 1 of its (aligned) position; on both sides, unless causal.
  int64_t window = 0;
  /// bool [ceil(Tq / block), ceil(Tk / block)]: query i sees key j only if entry [i / block, j / block] is true; may be
  /// undefined. What no query of a tile of 64 x 64 scores sees costs no time, forward or backward; blocks of a multiple
  /// of 64 waste none. nn/attention/sparsity.h makes the usual patterns.
  Tensor layout{};
  int64_t block = 0;  ///< of the layout, in tokens; 0 without one
  /// Probability of dropping an attention weight; draws from the default generator.
  double dropout = 0;
  /// 0: 1 / sqrt(head width).
  double scale = 0;
};

/// softmax(q k^T scale + mask) v (Vaswani et al. 2017) for q [B, H, Tq, D], k [B, Hk, Tk, D], v [B, Hk, Tk, Dv] of any
/// strides, H a multiple of Hk (query head h uses key/value head h / (H / Hk)): [B, H, Tq, Dv], laid out [B, Tq, H, Dv]
/// in memory, so that merging the heads is free. Online softmax; forward and backward store nothing of size Tq x Tk. A
/// row with every key masked gives 0 and gradients 0, and a NaN in a masked key or value reaches nothing. Any floating
/// dtype (the half types are computed in float32); a floating mask has the dtype of q, and its gradient is not computed
/// (AutogradError if it wants one). Dropout of weight (b, h, i, j) depends on the generator's key and on
/// ((b H + h) Tq + i) Tk + j alone. With create_graph the gradient is composed of differentiable operations, which do
/// store [Tq, Tk] matrices; with dropout it has no second derivative. ShapeError, DTypeError, DeviceError or ValueError
/// names what does not fit.
Tensor scaled_dot_product_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                                    const AttentionOptions& options = {});

/// The same for q, k and v packed in one tensor [B, T, 3, H, D], as one projection gives them: [B, T, H, D]
/// (contiguous). Its gradient is written in one piece too.
Tensor packed_attention(const Tensor& qkv, const AttentionOptions& options = {});

}  // namespace tutti
#pragma GCC visibility pop
