#include "grouped_vs_standard/claims/base.h"

#include <fmt/format.h>

#include "grouped_vs_standard/statistics/seeds.h"

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

namespace {

std::array<Setting, 2> matched(const Setting& standard, const GroupedMultiHeadAttentionOptions& options, Match match) {
  std::array<Setting, 2> arms{standard, standard};
  const auto models = match_arms(completed(standard.model, *make_task(standard.task)), options, match);
  for (size_t i = 0; i < 2; ++i) arms[i].model = models[i];
  return arms;
}

}  // namespace

Setting grouped_like(const Setting& standard, const GroupedMultiHeadAttentionOptions& options, Match match) {
  return matched(standard, options, match)[1];
}

std::array<Setting, 2> matched(const Setting& standard, Match match) {
  Setting s = standard;
  if (match == Match::equal_depth) {
    s.model.layers *= 2;
    s.model.hidden.resize(static_cast<size_t>(s.model.layers), s.model.hidden.at(0));
  }
  return matched(s, grouped_options(4), match);
}

std::string name_of(Match match, const std::array<Setting, 2>& arms) {
  const int64_t a = arms[0].model.layers, b = arms[1].model.layers;
  return name_of(match) + (a == b ? "" : fmt::format(" ({} and {} blocks)", a, b));
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
  // Resampling takes far longer than reading results, and claims share arms and comparisons.
  const Correct right_a = correct_of(c.a), right_b = correct_of(c.b);
  const auto key = [&](const auto&... settings) { return nlohmann::json{seeds, first, json_of(settings)...}.dump(); };
  const auto accuracy = [&](const Setting& arm, const Correct& right) {
    return lab.once<Interval>("accuracy " + key(arm), [&] { return accuracy_over_seeds(right); });
  };
  const auto& difference =
      lab.once<Resampled>("difference " + key(a, b), [&] { return accuracy_difference(right_a, right_b); });
  c.difference = difference.interval;
  c.p = difference.p;
  c.accuracy_a = accuracy(a, right_a);
  c.accuracy_b = accuracy(b, right_b);
  c.seeds = seeds;
  c.items = static_cast<int64_t>(c.a.at(0).correct.size());
  return c;
}

double parameter_gap(const Comparison& c) {
  const auto a = static_cast<double>(c.a.at(0).parameters), b = static_cast<double>(c.b.at(0).parameters);
  return 100 * (b - a) / a;
}

std::vector<double> gains(const Comparison& c) {
  std::vector<double> list;
  for (size_t i = 0; i < c.a.size(); ++i) list.push_back(c.b[i].accuracy() - c.a[i].accuracy());
  return list;
}

Interval excess_gain(const Comparison& here, const Comparison& there) {
  return accuracy_excess(correct_of(here.a), correct_of(here.b), correct_of(there.a), correct_of(there.b));
}

std::string with_gain(const std::string& verdict, const Interval& gain) {
  return verdict == "holds" && gain.low <= 0 ? "undecided" : verdict;
}

Interval mean_difference(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> difference = b;
  for (size_t i = 0; i < difference.size(); ++i) difference[i] -= a.at(i);
  return mean_over_seeds(difference);
}

std::vector<std::string> row_of(const std::string& name, const Comparison& c) {
  return {name, with_range(c.accuracy_a), with_range(c.accuracy_b), with_range(c.difference, 2, true),
          fmt::format("{}", c.seeds)};
}

std::vector<std::string> comparison_header(const std::string& first, const std::string& a, const std::string& b) {
  return {first, a, b, "difference (points)", "seeds"};
}

void say_effect(Finding& f, const std::string& before, const Interval& effect, const std::string& after, int digits) {
  f.effect = before + number(effect.value, digits, true) + after;
  f.interval = range(effect, digits, true);
}

Finding finding_of(const Comparison& c) {
  Finding f;
  say_effect(f, "", c.difference, " points");
  f.n = fmt::format("{}", c.items);
  f.seeds = fmt::format("{}", c.seeds);
  return f;
}

}  // namespace comparison
