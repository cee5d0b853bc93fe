// One training run of a setting from a seed, and its one test at the end.
#pragma once
#include <memory>

#include "grouped_vs_standard/study/setting.h"

namespace comparison {

struct Outcome {
  std::vector<uint8_t> correct;  ///< per test sample
  std::vector<double> losses;    ///< per step; NaN from where it diverged
  std::vector<double> curve;     ///< test accuracy (percent) at the evaluations on the way
  double train_accuracy = 0;     ///< percent, of the training samples without augmentation, at the end
  int64_t parameters = 0;
  double accuracy() const;  ///< percent
};
/// Whose `correct` stand side by side: [seed][item].
std::vector<std::vector<uint8_t>> correct_of(const std::vector<Outcome>& outcomes);
nlohmann::json json_of(const Outcome& outcome);
Outcome outcome_from(const nlohmann::json& j);

/// A trained model together with what it was trained on.
struct Trained {
  std::unique_ptr<examples::Classifier> model;
  std::shared_ptr<const Task> task;
  Sample data;
  Outcome outcome;
};

/// Called before every step; false abandons the run.
using KeepGoing = std::function<bool(int64_t step)>;

/// Weights, training subset, order and augmentation depend on the seed alone and are shared by all arms. AdamW with
/// decay on matrices only. An abandoned run has no `correct`.
Trained train(const Setting& setting, uint64_t seed, const KeepGoing& keep_going = {});

/// The setting's model as `train` starts it.
std::unique_ptr<examples::Classifier> fresh_model(const Setting& setting, uint64_t seed);

/// Mean FLOPs share of the last forward over the layers whose groups are chosen by content (differentiable in
/// training); undefined if there are none.
tutti::Tensor flops_share(const examples::Classifier& model);

/// AdamW's groups: decay on matrices, none on biases and norms.
std::vector<tutti::optim::ParameterGroup> parameter_groups(const tutti::nn::Module& model, double weight_decay);

/// Per sample of the split: is the prediction right?
std::vector<uint8_t> evaluate(examples::Classifier& model, const Task& task, const Split& split, int64_t items = -1);

}  // namespace comparison
