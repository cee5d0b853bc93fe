// Every attention layer that the benchmarks compare, as one choice: the library's two, the article's printed code, and
// the controls without which a gain may not be credited to grouping.
#pragma once
#include <variant>

#include "common/control_attention.h"
#include "common/looped_attention.h"
#include "tutti/tutti.h"

namespace examples {

using AttentionChoice = std::variant<tutti::nn::MultiHeadAttentionOptions, tutti::nn::GroupedMultiHeadAttentionOptions,
                                     LoopedAttentionOptions, LowRankAttentionOptions, RandomMaskAttentionOptions>;
using AttentionLayer = std::variant<tutti::nn::MultiHeadAttention, tutti::nn::GroupedMultiHeadAttention,
                                    LoopedAttention, LowRankAttention, RandomMaskAttention>;

/// The layer that the options describe, of width `dim` where they leave it open (embed_dim = 0).
AttentionLayer make_attention(AttentionChoice choice, int64_t dim);

/// "standard", "looped" or "grouped" with these sizes; ValueError naming the three.
AttentionChoice attention_from(const std::string& name, int64_t heads, int64_t groups);

}  // namespace examples
