// The article's layer: attention whose q, k and v projections are block-diagonal.
#pragma once
#include <variant>

#include "tutti/nn/group_exchange.h"
#include "tutti/nn/grouped_options.h"
#include "tutti/nn/inter_group.h"
#include "tutti/nn/linear.h"
#include "tutti/nn/talking_heads.h"
#include "tutti/ops/attention.h"

#pragma GCC visibility push(default)
namespace tutti::nn {

/// Each group of C/G channels has its own q, k and v maps; then attention over H heads as usual, and the output
/// projection. 3 (C^2/G + C) parameters, plus C^2 + C (dense) or C^2/G + C (grouped) for the output. Every block is
/// Xavier-uniform on its own: bound gain sqrt(3 / g), g = C/G. G = 1 with scale head_dim is MultiHeadAttention bit for
/// bit. The readings of the article behind the options are listed in nn/README.md.
class GroupedMultiHeadAttention : public CallableWith<GroupedMultiHeadAttention, AttentionOptions> {
 public:
  /// ValueError naming the option, and what would fit: groups does not divide embed_dim, num_heads does not divide it,
  /// heads and groups fit neither way, or dropout is no probability.
  explicit GroupedMultiHeadAttention(GroupedMultiHeadAttentionOptions options);
  void children(Visitor& visit) override;
  /// x [B, T, C] (or [T, C]) to the same shape. options: mask, causal, window; dropout and scale are the layer's.
  Tensor forward(const Tensor& x, const AttentionOptions& options = {});
  /// The options, with the number of heads filled in.
  const GroupedMultiHeadAttentionOptions& options() const { return options_; }
  Parameter weight;            ///< [3, G, g, g]: q, k, v
  Parameter bias;              ///< [3 C]
  double score_scale() const;  ///< what the scores are multiplied by: 1 / sqrt(of the chosen width)
  /// What options().exchange needs of its own.
  std::variant<std::monostate, InterGroupPath, TalkingHeads, TokensOverGroups> exchange;
  std::variant<std::monostate, Linear, GroupedLinear> out;

 private:
  GroupedMultiHeadAttentionOptions options_;
};

}  // namespace tutti::nn
#pragma GCC visibility pop
