#include "grouped_vs_standard/study/setting.h"

#include <fmt/format.h>

#include "grouped_vs_standard/study/attention_json.h"

namespace comparison {

using examples::ClassifierOptions;
using nlohmann::json;

ClassifierOptions completed(const ClassifierOptions& model, const Task& task) {
  ClassifierOptions o = model;
  o.tokens = task.tokens;
  o.inputs = task.inputs;
  o.classes = task.classes;
  o.symbols = task.symbols;
  o.first_inputs = task.first_part;
  if (task.symbols > 0) o.embedding = examples::Embedding::symbols;
  return o;
}

json json_of(const ClassifierOptions& o) {
  json j{{"attention", json_of(o.attention)}, {"dim", o.dim}, {"hidden", o.hidden}};
  if (o.embedding == examples::Embedding::identity) j["embedding"] = "identity";
  if (o.embedding == examples::Embedding::halves) j["embedding"] = "halves";
  if (o.embedding == examples::Embedding::interleaved) j["embedding"] = "interleaved";
  if (o.readout == examples::Readout::first) j["readout"] = "first";
  if (o.xavier) j["xavier"] = true;
  return j;
}

json json_of(const TaskSpec& t) {
  json j{{"name", t.name}};
  put(j, "variant", t.variant, std::string());
  put(j, "train", t.train, int64_t{0});
  put(j, "test", t.test, int64_t{0});
  put(j, "patch", t.patch, int64_t{0});
  put(j, "length", t.length, int64_t{0});
  put(j, "shuffled", t.shuffled, false);
  put(j, "validation", t.validation, false);
  return j;
}

json json_of(const Setting& s) {
  const TrainingOptions& t = s.training;
  const TrainingOptions usual;
  json training{{"steps", t.steps}, {"batch", t.batch}, {"lr", t.lr}};
  put(training, "weight_decay", t.weight_decay, usual.weight_decay);
  put(training, "warmup", t.warmup, usual.warmup);
  put(training, "constant_rate", t.constant_rate, usual.constant_rate);
  put(training, "evaluations", t.evaluations, usual.evaluations);
  if (t.evaluations > 0) put(training, "evaluation_items", t.evaluation_items, usual.evaluation_items);
  put(training, "flops_penalty", t.flops_penalty, usual.flops_penalty);
  return {{"task", json_of(s.task)}, {"model", json_of(s.model)}, {"training", training}};
}

}  // namespace comparison
