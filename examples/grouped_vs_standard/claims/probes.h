// Measurements inside trained models: what the heads or groups of a block look at and give, and what is lost without
// one of them.
#pragma once
#include <vector>

#include "grouped_vs_standard/study/train.h"

namespace comparison {

/// What each block is fed, and last what the classification gets: layers + 1 tensors [B, T, C]. tokens: as the model
/// takes them.
std::vector<tutti::Tensor> states(examples::Classifier& model, const tutti::Tensor& tokens);

/// One block's attention, fed x [B, T, C], without its output projection.
struct Seen {
  tutti::Tensor weights;  ///< [B, H, T, T], rows sum to 1
  tutti::Tensor context;  ///< [B, T, E]: the results of heads (or groups) side by side
};
/// For the standard and the grouped layer with static groups, no cascade and dense attention; else ValueError.
Seen look(examples::Block& block, const tutti::Tensor& x);

/// Mean over images, heads and queries of sum_k w_qk |place of q - place of k|, in tokens; places are on a square grid
/// (its side: the root of T) or on a line.
double attention_distance(const tutti::Tensor& weights, bool grid);

/// Heads of the standard layer, groups of the grouped one.
int64_t parts_of(const examples::Block& block);

/// For each part of each block: replaces its share of the context by the mean over the samples (mean ablation), and
/// gives what accuracy (percent) is lost in every class, [layer][part][class], on the first `items` test samples.
/// Needs a dense output projection. The model is as before afterwards.
std::vector<std::vector<std::vector<double>>> ablation_damage(examples::Classifier& model, const Task& task,
                                                              const Split& test, int64_t items);

/// Cosine between the gradients that the two halves of the classes give to one part's q, k and v weights, the mean over
/// parts and blocks. The grouped layer's part is a group's block, the standard layer's the rows of a head.
double half_class_cosine(examples::Classifier& model, const Task& task, const Split& train);

}  // namespace comparison
