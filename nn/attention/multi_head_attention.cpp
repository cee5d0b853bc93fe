#include "tutti/nn/attention/multi_head_attention.h"

#include <cmath>

#include "tutti/autograd/node.h"
#include "tutti/nn/init.h"
#include "tutti/nn/option.h"
#include "tutti/ops/shape.h"

namespace tutti::nn {
namespace {

MultiHeadAttentionOptions checked(MultiHeadAttentionOptions o) {
  check_positive("MultiHeadAttention", "embed_dim", o.embed_dim);
  check_divides("MultiHeadAttention", "num_heads", o.num_heads, "embed_dim", o.embed_dim);
  check_probability("MultiHeadAttention", "dropout", o.dropout);
  if (o.num_kv_heads == 0) o.num_kv_heads = o.num_heads;
  check_divides("MultiHeadAttention", "num_kv_heads", o.num_kv_heads, "num_heads", o.num_heads);
  if (o.rotary) check_rotary("MultiHeadAttention", *o.rotary, o.embed_dim / o.num_heads);
  return o;
}

/// Of q, k and v side by side.
Dims widths(const MultiHeadAttentionOptions& o) {
  const int64_t kv = o.embed_dim / o.num_heads * o.num_kv_heads;
  return {o.embed_dim, kv, kv};
}

LinearOptions projection(const MultiHeadAttentionOptions& o) {
  const Dims w = widths(o);
  return {.in = o.embed_dim, .out = w[0] + w[1] + w[2], .bias = o.bias, .init = LinearInit::zero};
}

}  // namespace

MultiHeadAttention::MultiHeadAttention(MultiHeadAttentionOptions o)
    : qkv(projection(o = checked(o))),
      out({.in = o.embed_dim, .out = o.embed_dim, .bias = o.bias, .init = LinearInit::zero}),
      options_(o) {
  const no_grad off;
  if (o.num_kv_heads == o.num_heads)
    init::xavier_uniform_(reshape(qkv.weight, {3, o.embed_dim, o.embed_dim}));  // each third on its own
  else
    for (const Tensor& part : split(qkv.weight, widths(o))) init::xavier_uniform_(part);
  init::xavier_uniform_(out.weight);
}

void MultiHeadAttention::children(Visitor& visit) {
  visit("qkv", qkv);
  visit("out", out);
}

QueryKeyValue MultiHeadAttention::project(const Tensor& x, int64_t first) const {
  QueryKeyValue h{.packed = qkv(x), .num_heads = options_.num_heads, .num_kv_heads = options_.num_kv_heads};
  if (h.num_kv_heads != h.num_heads) {
    const auto parts = split(h.packed, widths(options_), -1);
    h = {.q = parts[0], .k = parts[1], .v = parts[2], .num_heads = h.num_heads, .num_kv_heads = h.num_kv_heads};
  }
  if (options_.rotary) {
    h.unpack();
    h.q = rotate(h.q, h.num_heads, first, *options_.rotary);
    h.k = rotate(h.k, h.num_kv_heads, first, *options_.rotary);
  }
  return h;
}

Tensor MultiHeadAttention::forward(const Tensor& x, const AttentionOptions& options) {
  check_self_attention("MultiHeadAttention", x, options_.embed_dim, options);
  return out(self_attention(project(x), scale(), dropout(), options));
}

Tensor MultiHeadAttention::forward(const Tensor& x, KVCache& cache, const AttentionOptions& options) {
  check_self_attention("MultiHeadAttention", x, options_.embed_dim, options);
  return out(cached_attention("MultiHeadAttention", cache, qkv.weight, project(x, cache.tokens()), scale(), dropout(),
                              options));
}

double MultiHeadAttention::scale() const {
  return 1 / std::sqrt(static_cast<double>(options_.embed_dim / options_.num_heads));
}

double MultiHeadAttention::dropout() const { return training() ? options_.dropout : 0; }

}  // namespace tutti::nn
