// What an attention layer does with a batch: are the scores on the right scale, does it look anywhere, are its groups
// alive.
#pragma once
#include <string>
#include <vector>

#include "tutti/nn/attention/grouped_attention.h"
#include "tutti/nn/attention/multi_head_attention.h"

#pragma GCC visibility push(default)
namespace tutti::nn {

/// Scores are scale q k^T, before masks and before talking heads mix them. A row is one query of one head of one
/// sample; rows that see fewer than two keys are left out.
struct AttentionStats {
  /// The standard deviation of a row's scores over the keys that it sees, its root mean square over the rows. About 1
  /// at the start for independent tokens of variance 1 per channel, if the scale is 1 / sqrt(the width that a head sums
  /// over); sqrt(G) for the literal single map under 1 / sqrt(group_dim). Tokens with a common part give less.
  double logit_spread = 0;
  /// What the same q and k would give under 1 / sqrt(head width) if their channels were independent:
  /// sqrt(mean over channels of E[q^2] Var_tokens[k]). So it already knows of a common part, of larger tokens and of
  /// smaller weights; logit_spread / expected_spread is about scale sqrt(head width) at the start.
  double expected_spread = 0;
  /// A row's entropy over the logarithm of the number of keys that it sees, the mean over the rows: 1 if all weigh the
  /// same, 0 if one has all the weight.
  double entropy = 0;
  /// Of each group's channels of the context (of the standard layer: each head's), over samples and tokens; the mean
  /// over the channels.
  std::vector<double> context_variance{};
  /// Groups whose variance is below dead_below times the largest (all of them if that is 0): they say the same whatever
  /// they are shown.
  std::vector<int64_t> dead_groups{};
  /// The article's symptom "early loss oscillates: check the scale" (section 5.2), and nothing else: empty unless
  /// logit_spread is more than `spread_tolerance` times too large or too small for expected_spread and the layer's
  /// scale, by the same measure, is so too. Trained weights may give any spread under a right scale; that is no
  /// warning.
  std::vector<std::string> warnings{};

  static constexpr double dead_below = 1e-4;
  static constexpr double spread_tolerance = 1.3;  ///< half the groups too many or too few are a factor sqrt(2)
};

/// For x [B, T, C] (or [T, C]), as in evaluation: nothing is dropped, the layer is not changed, no gradient is
/// recorded. Stores a part of the scores at a time. options: mask, causal, window, layout, as in the layer's call.
/// ShapeError if x does not fit.
AttentionStats attention_stats(const GroupedMultiHeadAttention& layer, const Tensor& x,
                               const AttentionOptions& options = {});
AttentionStats attention_stats(const MultiHeadAttention& layer, const Tensor& x, const AttentionOptions& options = {});

}  // namespace tutti::nn
#pragma GCC visibility pop
