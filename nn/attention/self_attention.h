// What the standard and the grouped layer have in common: everything between their projections.
#pragma once
#include "tutti/ops/attention.h"

#pragma GCC visibility push(default)
namespace tutti::nn {

/// ShapeError unless x is [B, T, C] or [T, C]; ValueError if `call` sets dropout or scale, which are the layer's.
void check_self_attention(const char* layer, const Tensor& x, int64_t embed_dim, const AttentionOptions& call);

/// Unless the mask is bool or of x's dtype: DTypeError; unless on its device: DeviceError; unless it broadcasts to
/// `scores` [B, H, Tq, Tk]: ShapeError with both shapes. For what reads a mask before scaled_dot_product_attention
/// does.
void check_mask(const char* layer, const Tensor& mask, const Tensor& x, const Dims& scores);

/// From q, k, v side by side, as one projection gives them, [B, T, 3 C] (or [T, 3 C]), to the heads' results side by
/// side, [B, T, C] (or [T, C]). No copies: heads are a view of the projection's result.
Tensor self_attention(const Tensor& qkv, int64_t num_heads, double scale, double dropout, AttentionOptions call);

/// [B, T, H D] (or [T, H D]) as [B, H, T, D] (without a batch: B = 1), and back to the shape that it had. Views.
Tensor split_heads(const Tensor& x, int64_t num_heads);
Tensor merge_heads(const Tensor& context, bool batched);

/// q, k and v of a self-attention: in one tensor as long as nothing needs them apart, which is fastest.
struct QueryKeyValue {
  Tensor packed{};           ///< [B, T, 3 E] (or [T, 3 E]), or undefined
  Tensor q{}, k{}, v{};      ///< [B, T, E], [B, T, Ek], [B, T, Ek] (or without B); undefined while packed
  int64_t num_heads = 1;     ///< H, of q
  int64_t num_kv_heads = 1;  ///< Hk, of k and v; H while packed
  void unpack();             ///< fills q, k and v with views of `packed`, which is undefined afterwards
};

/// The same for either form: [B, T, E] (or [T, E]).
Tensor self_attention(const QueryKeyValue& qkv, double scale, double dropout, AttentionOptions call);

}  // namespace tutti::nn
#pragma GCC visibility pop
