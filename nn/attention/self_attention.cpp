#include "tutti/nn/attention/self_attention.h"

#include "tutti/core/check.h"
#include "tutti/core/error.h"
#include "tutti/ops/shape.h"

namespace tutti::nn {

void check_self_attention(const char* layer, const Tensor& x, int64_t embed_dim, const AttentionOptions& call) {
  check_defined(layer, "x", x);
  if ((x.rank() != 2 && x.rank() != 3) || x.size(-1) != embed_dim)
    throw ShapeError(message(layer, ": input ", x.shape(), " is neither [batch, tokens, ", embed_dim, "] nor [tokens, ",
                             embed_dim, "]"));
  if (call.dropout != 0)
    throw ValueError(message(layer, ": dropout = ", call.dropout, " in a call; it is an option of the layer"));
  if (call.scale != 0)
    throw ValueError(message(layer, ": scale = ", call.scale, " in a call; it is an option of the layer"));
}

void check_mask(const char* layer, const Tensor& mask, const Tensor& x, const Dims& scores) {
  if (mask.dtype() != DType::boolean && mask.dtype() != x.dtype())
    throw DTypeError(message(layer, ": mask must be bool or ", x.dtype(), ", not ", mask.dtype()));
  if (mask.device() != x.device())
    throw DeviceError(message(layer, ": mask is on ", mask.device(), ", the input on ", x.device()));
  bool fits = mask.rank() <= scores.n;
  for (int i = 1; fits && i <= mask.rank(); ++i) fits = mask.size(-i) == 1 || mask.size(-i) == scores[scores.n - i];
  if (!fits)
    throw ShapeError(message(layer, ": mask of shape ", mask.shape(), " does not broadcast to the scores' ", scores));
}

Tensor self_attention(const Tensor& qkv, int64_t num_heads, double scale, double dropout, AttentionOptions call) {
  const bool batched = qkv.rank() == 3;
  const int64_t batch = batched ? qkv.size(0) : 1, tokens = qkv.size(-2), width = qkv.size(-1) / 3;
  call.scale = scale;
  call.dropout = dropout;
  const Tensor heads = reshape(qkv, {batch, tokens, 3, num_heads, width / num_heads});
  const Tensor context = packed_attention(heads, call);
  return batched ? reshape(context, {batch, tokens, width}) : reshape(context, {tokens, width});
}

Tensor split_heads(const Tensor& x, int64_t num_heads) {
  const int64_t batch = x.rank() == 3 ? x.size(0) : 1;
  return transpose(reshape(x, {batch, x.size(-2), num_heads, x.size(-1) / num_heads}), 1, 2);
}

Tensor merge_heads(const Tensor& context, bool batched) {
  const Tensor merged = flatten(transpose(context, 1, 2), 2);
  return batched ? merged : select(merged, 0, 0);
}

void QueryKeyValue::unpack() {
  if (!packed.defined()) return;
  const auto parts = split(packed, packed.size(-1) / 3, -1);
  q = parts[0];
  k = parts[1];
  v = parts[2];
  packed = Tensor();
}

Tensor self_attention(const QueryKeyValue& x, double scale, double dropout, AttentionOptions call) {
  if (x.packed.defined()) return self_attention(x.packed, x.num_heads, scale, dropout, std::move(call));
  call.scale = scale;
  call.dropout = dropout;
  const Tensor context = scaled_dot_product_attention(split_heads(x.q, x.num_heads), split_heads(x.k, x.num_kv_heads),
                                                      split_heads(x.v, x.num_kv_heads), call);
  return merge_heads(context, x.q.rank() == 3);
}

}  // namespace tutti::nn
