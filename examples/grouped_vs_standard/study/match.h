// What "the same parameter count" may mean: the match modes, and what each costs.
#pragma once
#include <array>
#include <string>

#include "grouped_vs_standard/study/setting.h"

namespace comparison {

enum class Match {
  same_width,       ///< nothing is given back: what the printed code does
  equal_ffn,        ///< the feed-forward is wider: r' = r + 1.5 (1 - 1/G)
  equal_inner,      ///< q, k and v are wider: e = 4 G / (G + 3)
  equal_depth,      ///< more blocks: L' = 12 L / (9 + 3/G)
  shrunk_baseline,  ///< the standard arm is narrower: C sqrt((9 + 3/G) / 12)
};
inline constexpr Match all_matches[] = {Match::equal_ffn, Match::equal_inner, Match::equal_depth,
                                        Match::shrunk_baseline, Match::same_width};
Match match_from(const std::string& name);  ///< ValueError naming them
std::string name_of(Match match);

/// {standard, grouped} from the standard model and the grouped layer's options. Every mode but same_width closes its
/// gap by the integer widths of the feed-forward, spread over the layers.
std::array<examples::ClassifierOptions, 2> match_arms(const examples::ClassifierOptions& standard,
                                                      const tutti::nn::GroupedMultiHeadAttentionOptions& grouped,
                                                      Match match);

/// The arm with its feed-forward widths changed so that the whole model has about `parameters`: the total width changes
/// by round(gap / (2 C + 1)), the remainder of which goes to the first layers.
examples::ClassifierOptions close_gap(examples::ClassifierOptions arm, int64_t parameters);

/// Parameters of the whole model, without building it but for one attention layer of each kind (a random mask's zeros
/// do not count).
int64_t parameters_of(const examples::ClassifierOptions& model);

/// By the article's formulae, for the standard and the grouped layer.
struct Cost {
  int64_t parameters = 0;
  double forward_flops = 0;  ///< of one sample: 2 per multiply-add of all matrix products; a training step is 3 times
  double activation_floats = 0;  ///< kept for backward per sample in the blocks: (4 + 4 e + 2 r) T C a block
};
Cost cost_of(const examples::ClassifierOptions& model);

}  // namespace comparison
