#include "grouped_vs_standard/claims/base.h"

#include <fmt/format.h>

#include "grouped_vs_standard/statistics/bootstrap.h"

namespace comparison {

using tutti::nn::GroupedMultiHeadAttentionOptions;

namespace base {

Setting for_task(const TaskSpec& task, int64_t dim, int64_t layers, int64_t heads, int64_t steps) {
  Setting s{.task = task, .model = {}, .training = {.steps = steps}};
  s.model.attention = tutti::nn::MultiHeadAttentionOptions{.num_heads = heads};
  s.model.dim = dim;
  s.model.layers = layers;
  s.model.hidden.assign(static_cast<size_t>(layers), 4 * dim);
  return s;
}

Setting headline_plain() { return for_task({.name = "fashion", .patch = 4}, 64, 2, 4, 800); }
Setting headline_tuned() { return for_task({.name = "fashion", .variant = "augmented", .patch = 4}, 64, 2, 4, 1200); }
Setting sweep() { return for_task({.name = "fashion", .patch = 7}, 64, 2, 4, 400); }

Setting planted(const std::string& variant) {
  Setting s = for_task({.name = "planted", .variant = variant}, 60, 1, 4, 400);
  s.model.embedding = examples::Embedding::identity;
  s.model.readout = examples::Readout::first;
  s.model.xavier = true;
  s.training.lr = 1e-2;
  return s;
}

}  // namespace base

GroupedMultiHeadAttentionOptions grouped_options(int64_t groups, int64_t heads) {
  return {.num_heads = heads, .groups = groups};
}

Setting grouped_like(const Setting& standard, const GroupedMultiHeadAttentionOptions& options, Match match) {
  Setting s = standard;
  const auto task = make_task(s.task);
  s.model = match_arms(completed(s.model, *task), options, match)[1];
  return s;
}

Setting with_attention(const Setting& standard, const examples::AttentionChoice& attention, bool equal_parameters) {
  Setting s = standard;
  s.model = completed(s.model, *make_task(s.task));
  const int64_t parameters = parameters_of(s.model);
  s.model.attention = attention;
  if (equal_parameters) s.model = close_gap(s.model, parameters);
  return s;
}

std::vector<double> accuracies(const std::vector<Outcome>& outcomes) {
  std::vector<double> list;
  for (const Outcome& o : outcomes) list.push_back(o.accuracy());
  return list;
}

Comparison compare(Lab& lab, const Setting& a, const Setting& b, int64_t k, uint64_t first) {
  const int64_t seeds = lab.seeds(k);
  Comparison c;
  c.a = lab.train(a, seeds, first);
  c.b = lab.train(b, seeds, first);
  if (!lab.complete()) return c;
  std::vector<std::vector<uint8_t>> correct_a, correct_b;
  for (const Outcome& o : c.a) correct_a.push_back(o.correct);
  for (const Outcome& o : c.b) correct_b.push_back(o.correct);
  const Resampled difference = bootstrap_difference(correct_a, correct_b);
  c.difference = difference.interval;
  c.p = difference.p;
  c.accuracy_a = mean_accuracy(correct_a);
  c.accuracy_b = mean_accuracy(correct_b);
  c.seeds = seeds;
  c.items = static_cast<int64_t>(c.a.at(0).correct.size());
  return c;
}

std::vector<double> gains(const Comparison& c) {
  std::vector<double> list;
  for (size_t i = 0; i < c.a.size(); ++i) list.push_back(c.b[i].accuracy() - c.a[i].accuracy());
  return list;
}

Interval excess_gain(const Comparison& here, const Comparison& there) {
  std::vector<double> excess = gains(here);
  const std::vector<double> other = gains(there);
  for (size_t i = 0; i < excess.size(); ++i) excess[i] -= other.at(i);
  return bootstrap_mean(excess).interval;
}

std::vector<std::string> row_of(const std::string& name, const Comparison& c) {
  return {name, with_range(c.accuracy_a), with_range(c.accuracy_b), with_range(c.difference, 2, true),
          fmt::format("{}", c.seeds)};
}

std::vector<std::string> comparison_header(const std::string& first, const std::string& a, const std::string& b) {
  return {first, a, b, "difference (points)", "seeds"};
}

Finding finding_of(const Comparison& c) {
  Finding f;
  f.effect = number(c.difference.value, 2, true) + " points";
  f.interval = range(c.difference, 2, true);
  f.n = fmt::format("{}", c.items);
  f.seeds = fmt::format("{}", c.seeds);
  return f;
}

}  // namespace comparison
