#include "common/looped_attention.h"

#include <cmath>

#include "common/checked_sizes.h"

namespace examples {

using namespace tutti;

namespace {

std::vector<nn::Linear> per_group(const LoopedAttentionOptions& o) {
  std::vector<nn::Linear> layers;
  for (int64_t i = 0; i < o.groups; ++i)
    layers.emplace_back(nn::LinearOptions{.in = o.embed_dim / o.groups, .out = o.embed_dim / o.groups});
  return layers;
}

/// [B, T, C] to heads [B, H, T, C/H], group by group.
Tensor project(std::vector<nn::Linear>& layers, const Tensor& x, int64_t heads) {
  std::vector<Tensor> parts;
  const auto slices = chunk(x, static_cast<int64_t>(layers.size()), -1);
  for (size_t i = 0; i < layers.size(); ++i) parts.push_back(layers[i](slices[i]));
  const Tensor y = cat(parts, -1);
  return transpose(reshape(y, {x.size(0), x.size(1), heads, x.size(2) / heads}), 1, 2);
}

}  // namespace

LoopedAttention::LoopedAttention(LoopedAttentionOptions options)
    : q(per_group(checked_sizes("LoopedAttention", options))),
      k(per_group(options)),
      v(per_group(options)),
      out({.in = options.embed_dim, .out = options.embed_dim}),
      options_(options) {}

void LoopedAttention::children(nn::Visitor& visit) {
  visit("q", q);
  visit("k", k);
  visit("v", v);
  visit("out", out);
}

Tensor LoopedAttention::forward(const Tensor& x) {
  if (x.rank() != 3 || x.size(2) != options_.embed_dim)
    throw ShapeError(
        message("LoopedAttention: input ", x.shape(), " is not [batch, tokens, ", options_.embed_dim, "]"));
  const double group_dim = static_cast<double>(options_.embed_dim / options_.groups);
  const Tensor queries = project(q, x, options_.num_heads), keys = project(k, x, options_.num_heads),
               values = project(v, x, options_.num_heads);
  const Tensor y = scaled_dot_product_attention(queries, keys, values, {.scale = 1 / std::sqrt(group_dim)});
  return out(reshape(transpose(y, 1, 2), x.shape()));
}

}  // namespace examples
