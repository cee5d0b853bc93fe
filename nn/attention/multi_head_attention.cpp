#include "tutti/nn/attention/multi_head_attention.h"

#include <cmath>

#include "tutti/autograd/node.h"
#include "tutti/nn/attention/self_attention.h"
#include "tutti/nn/init.h"
#include "tutti/nn/option.h"
#include "tutti/ops/shape.h"

namespace tutti::nn {
namespace {

const MultiHeadAttentionOptions& checked(const MultiHeadAttentionOptions& o) {
  check_positive("MultiHeadAttention", "embed_dim", o.embed_dim);
  check_divides("MultiHeadAttention", "num_heads", o.num_heads, "embed_dim", o.embed_dim);
  check_probability("MultiHeadAttention", "dropout", o.dropout);
  return o;
}

}  // namespace

MultiHeadAttention::MultiHeadAttention(MultiHeadAttentionOptions o)
    : qkv({.in = checked(o).embed_dim, .out = 3 * o.embed_dim, .bias = o.bias, .init = LinearInit::zero}),
      out({.in = o.embed_dim, .out = o.embed_dim, .bias = o.bias, .init = LinearInit::zero}),
      options_(o) {
  const no_grad off;
  init::xavier_uniform_(reshape(qkv.weight, {3, o.embed_dim, o.embed_dim}));  // each third on its own
  init::xavier_uniform_(out.weight);
}

void MultiHeadAttention::children(Visitor& visit) {
  visit("qkv", qkv);
  visit("out", out);
}

Tensor MultiHeadAttention::forward(const Tensor& x, const AttentionOptions& options) {
  check_self_attention("MultiHeadAttention", x, options_.embed_dim, options);
  const double scale = 1 / std::sqrt(static_cast<double>(options_.embed_dim / options_.num_heads));
  const Tensor projected = qkv(x);
  return out(self_attention(projected, options_.num_heads, scale, training() ? options_.dropout : 0, options));
}

}  // namespace tutti::nn
