// The grouped layer under every scale and head layout: what the claims about scales have in common.
#pragma once
#include "grouped_vs_standard/claims/base.h"

namespace comparison {

enum class HeadLayout {
  literal,   ///< the printed single map
  one_each,  ///< H = G
  two_each,  ///< H = 2 G
};
inline constexpr HeadLayout head_layouts[] = {HeadLayout::literal, HeadLayout::one_each, HeadLayout::two_each};
inline constexpr tutti::nn::AttentionScale all_scales[] = {
    tutti::nn::AttentionScale::group_dim, tutti::nn::AttentionScale::head_dim, tutti::nn::AttentionScale::embed_dim,
    tutti::nn::AttentionScale::learned};
const char* name_of(HeadLayout heads);

/// The grouped layer (G = 4) with them. Scales that coincide are one choice, so that they are one experiment: head_dim
/// is group_dim at H = G, and embed_dim for the single map.
tutti::nn::GroupedMultiHeadAttentionOptions scaled_options(HeadLayout heads, tutti::nn::AttentionScale scale);
/// base::sweep() with this layer at equal parameters.
Setting scaled_sweep(HeadLayout heads, tutti::nn::AttentionScale scale);

/// What a fresh layer of width 64 does with independent unit-normal tokens.
tutti::nn::AttentionStats stats_at_start(HeadLayout heads, tutti::nn::AttentionScale scale);

/// The largest rate of {0.003, 0.01, 0.03, 0.1, 0.3}, constant after the warm-up, at which all seeds train in 150 steps
/// (mean of the last 20 losses below ln(10) / 2), and at all smaller ones too; 0 if there is none. Unspecified while
/// the lab is not complete.
double largest_stable_rate(Lab& lab, Setting setting, int64_t k);

}  // namespace comparison
