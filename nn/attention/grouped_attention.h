// The article's layer: attention whose q, k and v projections are block-diagonal.
#pragma once
#include <variant>
#include <vector>

#include "tutti/nn/attention/dynamic_groups.h"
#include "tutti/nn/attention/group_exchange.h"
#include "tutti/nn/attention/grouped_layer_norm.h"
#include "tutti/nn/attention/grouped_options.h"
#include "tutti/nn/attention/inter_group.h"
#include "tutti/nn/attention/kv_cache.h"
#include "tutti/nn/attention/self_attention.h"
#include "tutti/nn/attention/talking_heads.h"
#include "tutti/nn/linear.h"
#include "tutti/ops/attention.h"

#pragma GCC visibility push(default)
namespace tutti::nn {

/// Each group of C/G channels has its own q, k and v maps to E/G channels; then attention over H heads, and the output
/// projection from E back to C. Every block is Xavier-uniform on its own (bound gain sqrt(6 / (C/G + E/G))). Parameters
/// with E = C and Hk = H: 3 (C^2/G + C), plus C^2 + C (dense) or C^2/G + C (grouped) for the output. G = 1 with scale
/// head_dim is MultiHeadAttention bit for bit. What each option computes, and where it is from: nn/README.md.
class GroupedMultiHeadAttention : public CallableWith<GroupedMultiHeadAttention, AttentionOptions> {
 public:
  /// ValueError naming the option, and what would fit, as checked() does.
  explicit GroupedMultiHeadAttention(GroupedMultiHeadAttentionOptions options);
  void children(Visitor& visit) override;
  /// x [B, T, C] (or [T, C]) to the same shape. options: mask, causal, window, layout; dropout and scale are the
  /// layer's. With dynamic.candidates neither causal nor a mask that differs between queries or heads (ValueError): the
  /// gate chooses once for a sample, by the mean of the tokens that the mask shows; a window or layout does not change
  /// what it reads. Warns once in a process (core/warning.h) of dense attention over more than 1024 tokens, as the
  /// article does (neither a window nor a layout nor the option sparsity), and of talking heads over as many, which
  /// store [B, H, T, T] whatever is hidden.
  Tensor forward(const Tensor& x, const AttentionOptions& options = {});
  /// x's tokens come after those in the cache, which they see, and join them there. Always causal. A mask is broadcast
  /// to [B, H, T, tokens in the cache + T]; no layout. Errors of KVCache::append; ValueError with dynamic.candidates,
  /// with the exchanges talking_heads and cascade, and with patterns of blocks as sparsity.
  Tensor forward(const Tensor& x, KVCache& cache, const AttentionOptions& options = {});
  /// Its first part: the heads' results side by side, [B, T, E] (or [T, E]), before group dropout, exchange of results
  /// and output projection. `seen` receives q (not yet times a learned scale), k and v, as they meet: one entry, or
  /// with cascade one for each group.
  Tensor context(const Tensor& x, const AttentionOptions& options = {}, std::vector<QueryKeyValue>* seen = nullptr);
  /// The options, with what was 0 filled in: see checked().
  const GroupedMultiHeadAttentionOptions& options() const { return options_; }
  /// What the scores are multiplied by: 1 / sqrt(of the chosen width); learned: 1, since head_scale multiplies q.
  double score_scale() const;

  Parameter weight;  ///< [3, G, E/G, C/G]: q, k, v; with fewer k/v heads [1, G, E/G, C/G]: q
  Parameter bias;    ///< [3 E]; with fewer k/v heads [E]
  /// In place of these with dynamic.candidates: one projection for q, k and v whose groups its samples choose.
  std::optional<DynamicGroups> dynamic;
  Parameter kv_weight;                             ///< with fewer k/v heads [2, G, Ek/G, C/G], Ek = E Hk/H: k, v
  Parameter kv_bias;                               ///< with fewer k/v heads [2 Ek]
  Parameter head_scale;                            ///< [H], if scale is learned
  std::optional<GroupedLayerNorm> norm_q, norm_k;  ///< if norm is not none
  std::optional<GroupDropout> group_dropout;       ///< if it has rates
  /// What options().exchange needs of its own.
  std::variant<std::monostate, InterGroupPath, TalkingHeads, TokensOverGroups> exchange;
  std::variant<std::monostate, Linear, GroupedLinear> out;

 private:
  // forward, step by step
  QueryKeyValue project(const Tensor& x, const AttentionOptions& call);
  static constexpr int64_t all_groups = -1;
  void normalize(QueryKeyValue& x, int64_t group = all_groups) const;
  void scale_queries(QueryKeyValue& x, int64_t group = all_groups) const;
  Tensor attend(const QueryKeyValue& x, const AttentionOptions& call);
  Tensor attend_in_cascade(const Tensor& x, const AttentionOptions& call, std::vector<QueryKeyValue>* seen);
  Tensor finish(const Tensor& context);
  Tensor mix_groups(const Tensor& context);
  Tensor project_out(const Tensor& context);
  GroupedMultiHeadAttentionOptions options_;
};

}  // namespace tutti::nn
#pragma GCC visibility pop
