// A setting: everything that decides the result of a training run, apart from its seed. Its JSON is the key under which
// results are kept.
#pragma once
#include <nlohmann/json.hpp>

#include "common/classifier.h"
#include "grouped_vs_standard/tasks/task.h"

namespace comparison {

struct TrainingOptions {
  int64_t steps = 400, batch = 50;
  double lr = 3e-3, weight_decay = 0.05;
  double warmup = 0.05;        ///< share of the steps in which the rate rises linearly; then cosine to 0
  bool constant_rate = false;  ///< no cosine: the rate stays
  int64_t evaluations = 0;     ///< tests on the way, evenly spaced, on the first `evaluation_items` test samples
  int64_t evaluation_items = 2000;
  double flops_penalty = 0;  ///< times the layers' mean FLOPs share, added to the loss (dynamic groups)
};

struct Setting {
  TaskSpec task;
  examples::ClassifierOptions model;  ///< inputs, tokens, classes and symbols are the task's (see `completed`)
  TrainingOptions training;
};

/// The model's options with what the task decides filled in.
examples::ClassifierOptions completed(const examples::ClassifierOptions& model, const Task& task);

/// All options by name, those at their default left out, so that an option added later leaves old keys as they are.
nlohmann::json json_of(const examples::ClassifierOptions& model);
nlohmann::json json_of(const TaskSpec& task);
nlohmann::json json_of(const Setting& setting);

}  // namespace comparison
