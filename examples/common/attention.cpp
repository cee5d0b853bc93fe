#include "common/attention.h"

namespace examples {

using namespace tutti;

namespace {

AttentionLayer make(const nn::MultiHeadAttentionOptions& o) { return nn::MultiHeadAttention(o); }
AttentionLayer make(const nn::GroupedMultiHeadAttentionOptions& o) { return nn::GroupedMultiHeadAttention(o); }
AttentionLayer make(const LoopedAttentionOptions& o) { return LoopedAttention(o); }
AttentionLayer make(const LowRankAttentionOptions& o) { return LowRankAttention(o); }
AttentionLayer make(const RandomMaskAttentionOptions& o) { return RandomMaskAttention(o); }

}  // namespace

AttentionLayer make_attention(AttentionChoice choice, int64_t dim) {
  return std::visit(
      [&](auto options) {
        if (options.embed_dim == 0) options.embed_dim = dim;
        return make(options);
      },
      choice);
}

AttentionChoice attention_from(const std::string& name, int64_t heads, int64_t groups) {
  if (name == "standard") return nn::MultiHeadAttentionOptions{.num_heads = heads};
  if (name == "looped") return LoopedAttentionOptions{.num_heads = heads, .groups = groups};
  if (name == "grouped") return nn::GroupedMultiHeadAttentionOptions{.num_heads = heads, .groups = groups};
  throw ValueError("kind '" + name + "': expected standard, looped or grouped");
}

}  // namespace examples
