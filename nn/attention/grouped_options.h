// The options of the grouped layer, their checks and their names.
#pragma once
#include "tutti/nn/attention/dynamic_groups.h"
#include "tutti/nn/attention/group_dropout.h"
#include "tutti/nn/attention/sparsity.h"

#pragma GCC visibility push(default)
namespace tutti::nn {

enum class HeadMode {
  heads,
  literal  ///< the article's printed code: one map over all channels; num_heads is accepted and ignored
};
/// Scores are divided by the square root of this width, or multiplied by a learned number for each head that starts
/// at 1 / sqrt(head_dim). group_dim is the width of a group's q, E/G.
enum class AttentionScale { group_dim, head_dim, embed_dim, learned };
enum class OutputProjection { none, dense, grouped };
enum class InitSchedule { constant, inverse_index };  ///< gain 1, or 1 / (i + 1) for group i = 0, 1, ...
enum class ScheduledProjections { q, qk, qkv };       ///< which of them follow the schedule
/// LayerNorm on q and on k after the projection, before scaling: none, over each group's channels, or over all.
enum class ProjectionNorm { none, per_group, full };
/// How groups learn of one another inside the layer.
enum class GroupExchange { none, shuffle, talking_heads, inter_group, tokens_over_groups, cascade };

struct GroupedMultiHeadAttentionOptions {
  int64_t embed_dim = 0;  ///< C; 0 inside a TransformerBlock means the block's
  int64_t num_heads = 0;  ///< H; 0: one head per group. H % G == 0 or G % H == 0
  int64_t groups = 4;     ///< G, divides C and E; group i is the contiguous channels [i C/G, (i+1) C/G)
  HeadMode head_mode = HeadMode::heads;
  int64_t num_kv_heads = 0;  ///< Hk, divides H: heads of k and v, each for H/Hk heads of q; 0: H
  int64_t inner_dim = 0;     ///< E, width of q over all groups (of k and v too, unless Hk < H); 0: C
  AttentionScale scale = AttentionScale::group_dim;
  OutputProjection output = OutputProjection::dense;
  InitSchedule init = InitSchedule::constant;
  ScheduledProjections init_on = ScheduledProjections::q;
  bool bias = true;
  double dropout = 0;  ///< of attention weights, in training
  ProjectionNorm norm = ProjectionNorm::none;
  double norm_eps = 1e-5;
  GroupDropoutOptions group_dropout{};  ///< of the attention's result, before exchange and output projection
  GroupExchange exchange = GroupExchange::none;
  DynamicGroupsOptions dynamic{};
  SparsityOptions sparsity{};
};

/// The options with every 0 that means something else filled in: num_heads (literal: 1), num_kv_heads, inner_dim.
/// ValueError naming the option and what would fit.
GroupedMultiHeadAttentionOptions checked(GroupedMultiHeadAttentionOptions options);

/// "per_group": an option's value as it is spelled here.
const char* name_of(HeadMode x);
const char* name_of(AttentionScale x);
const char* name_of(OutputProjection x);
const char* name_of(InitSchedule x);
const char* name_of(ScheduledProjections x);
const char* name_of(ProjectionNorm x);
const char* name_of(GroupExchange x);
const char* name_of(Sparsity x);

}  // namespace tutti::nn
#pragma GCC visibility pop
