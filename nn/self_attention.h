// What the standard and the grouped layer have in common: everything between their projections.
#pragma once
#include "tutti/ops/attention.h"

#pragma GCC visibility push(default)
namespace tutti::nn {

/// ShapeError unless x is [B, T, C] or [T, C]; ValueError if `call` sets dropout or scale, which are the layer's.
void check_self_attention(const char* layer, const Tensor& x, int64_t embed_dim, const AttentionOptions& call);

/// From q, k, v side by side, as one projection gives them, [B, T, 3 C] (or [T, 3 C]), to the heads' results side by
/// side, [B, T, C] (or [T, C]). No copies: heads are a view of the projection's result.
Tensor self_attention(const Tensor& qkv, int64_t num_heads, double scale, double dropout, AttentionOptions call);

}  // namespace tutti::nn
#pragma GCC visibility pop
