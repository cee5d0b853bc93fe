#include "tutti/nn/transformer.h"

#include "tutti/nn/option.h"
#include "tutti/ops/arithmetic.h"

namespace tutti::nn {
namespace {

using Attention = std::variant<MultiHeadAttention, GroupedMultiHeadAttention>;

const TransformerBlockOptions& checked(const TransformerBlockOptions& o) {
  check_positive("TransformerBlock", "embed_dim", o.embed_dim);
  check_probability("TransformerBlock", "dropout", o.dropout);
  if (o.hidden < 0)
    throw ValueError(message("TransformerBlock: hidden is ", o.hidden, "; it must be positive, or 0 for 4 embed_dim"));
  return o;
}

Attention make(AttentionSpec spec, int64_t embed_dim) {
  return std::visit(
      [&](auto o) -> Attention {
        if (o.embed_dim == 0) o.embed_dim = embed_dim;
        if (o.embed_dim != embed_dim)
          throw ValueError(message("TransformerBlock: attention.embed_dim = ", o.embed_dim,
                                   " differs from embed_dim = ", embed_dim, "; leave it 0 to take the block's"));
        if constexpr (std::is_same_v<decltype(o), MultiHeadAttentionOptions>)
          return MultiHeadAttention(o);
        else
          return GroupedMultiHeadAttention(o);
      },
      spec);
}

NormOptions norm_of(const TransformerBlockOptions& o) {
  return {.width = o.embed_dim, .kind = o.norm, .eps = o.norm_eps, .bias = o.bias};
}

FeedForwardOptions feed_forward_of(const TransformerBlockOptions& o) {
  return {.embed_dim = o.embed_dim,
          .hidden = o.hidden ? o.hidden : 4 * o.embed_dim,
          .activation = o.activation,
          .gated = o.gated,
          .bias = o.bias};
}

}  // namespace

TransformerBlock::TransformerBlock(TransformerBlockOptions o)
    : norm1(norm_of(checked(o))),
      norm2(norm_of(o)),
      attention(make(o.attention, o.embed_dim)),
      ffn(feed_forward_of(o)),
      dropout(o.dropout),
      options_(o) {}

void TransformerBlock::children(Visitor& visit) {
  visit("norm1", norm1);
  visit("attention", attention);
  visit("norm2", norm2);
  visit("ffn", ffn);
  visit("dropout", dropout);
}

template <class Attend>
Tensor TransformerBlock::body(const Tensor& x, const Attend& attend_by) {
  const auto attend = [&](const Tensor& y) {
    return std::visit([&](auto& layer) { return dropout(attend_by(layer, y)); }, attention);
  };
  if (options_.norm_first) {
    const Tensor y = add(x, attend(norm1(x)));
    return add(y, dropout(ffn(norm2(y))));
  }
  const Tensor y = norm1(add(x, attend(x)));
  return norm2(add(y, dropout(ffn(y))));
}

Tensor TransformerBlock::forward(const Tensor& x, const AttentionOptions& options) {
  return body(x, [&](auto& layer, const Tensor& y) { return layer(y, options); });
}

Tensor TransformerBlock::forward(const Tensor& x, KVCache& cache, const AttentionOptions& options) {
  return body(x, [&](auto& layer, const Tensor& y) { return layer(y, cache, options); });
}

TransformerEncoder::TransformerEncoder(TransformerEncoderOptions o) {
  if (o.layers < 0) throw ValueError(message("TransformerEncoder: layers is ", o.layers, "; it must not be negative"));
  blocks.reserve(static_cast<size_t>(o.layers));
  for (int64_t i = 0; i < o.layers; ++i) blocks.emplace_back(o.block);
  if (o.final_norm) norm.emplace(norm_of(o.block));
}

void TransformerEncoder::children(Visitor& visit) {
  visit("blocks", blocks);
  visit("norm", norm);
}

Tensor TransformerEncoder::forward(const Tensor& x, const AttentionOptions& options) {
  Tensor y = x;
  for (TransformerBlock& block : blocks) y = block(y, options);
  return norm ? (*norm)(y) : y;
}

Tensor TransformerEncoder::forward(const Tensor& x, std::vector<KVCache>& caches, const AttentionOptions& options) {
  if (caches.size() != blocks.size())
    throw ValueError(message("TransformerEncoder: ", caches.size(), " caches for ", blocks.size(), " blocks"));
  for (const KVCache& cache : caches)
    if (cache.tokens() != caches[0].tokens())
      throw ValueError(message("TransformerEncoder: the caches of its blocks hold ", caches[0].tokens(), " and ",
                               cache.tokens(), " tokens; clear() them"));
  Tensor y = x;
  for (size_t i = 0; i < blocks.size(); ++i) y = blocks[i](y, caches[i], options);
  return norm ? (*norm)(y) : y;
}

}  // namespace tutti::nn
