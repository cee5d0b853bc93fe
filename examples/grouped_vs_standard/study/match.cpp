#include "grouped_vs_standard/study/match.h"

#include <cmath>
#include <map>
#include <mutex>
#include <numeric>

#include "grouped_vs_standard/study/attention_json.h"

namespace comparison {

using examples::ClassifierOptions;
using tutti::nn::GroupedMultiHeadAttentionOptions;
using tutti::nn::MultiHeadAttentionOptions;

namespace {

constexpr std::pair<Match, const char*> names[] = {{Match::same_width, "same_width"},
                                                   {Match::equal_ffn, "equal_ffn"},
                                                   {Match::equal_inner, "equal_inner"},
                                                   {Match::equal_depth, "equal_depth"},
                                                   {Match::shrunk_baseline, "shrunk_baseline"}};

/// value rounded to a positive multiple of `unit`.
int64_t rounded(double value, int64_t unit) {
  return std::max<int64_t>(1, std::llround(value / static_cast<double>(unit))) * unit;
}

int64_t heads_of(const examples::AttentionChoice& attention) {
  return std::visit([](const auto& o) -> int64_t { return o.num_heads; }, attention);
}

}  // namespace

Match match_from(const std::string& name) {
  for (const auto& [match, its_name] : names)
    if (name == its_name) return match;
  throw tutti::ValueError("match '" + name +
                          "': expected same_width, equal_ffn, equal_inner, equal_depth or shrunk_baseline");
}

std::string name_of(Match match) {
  for (const auto& [m, name] : names)
    if (m == match) return name;
  return "?";
}

namespace {

/// Parameters of an attention layer, counted once by building it: its options have too many ways for a formula.
int64_t attention_parameters(const examples::AttentionChoice& attention, int64_t dim) {
  static std::mutex mutex;
  static std::map<std::string, int64_t> counted;
  const std::string key = json_of(attention).dump() + " " + std::to_string(dim);
  const std::lock_guard lock(mutex);
  if (const auto known = counted.find(key); known != counted.end()) return known->second;
  examples::AttentionLayer layer = examples::make_attention(attention, dim);
  const auto* masked = std::get_if<examples::RandomMaskAttention>(&layer);
  const int64_t count =
      masked ? masked->effective_parameters() : std::visit([](auto& l) { return l.parameter_count(); }, layer);
  return counted[key] = count;
}

/// Parameters of the model around its attention: embedding, positions, norms, feed-forwards, head.
int64_t other_parameters(const ClassifierOptions& o) {
  const int64_t c = o.dim;
  const bool two_parts = o.embedding == examples::Embedding::halves || o.embedding == examples::Embedding::interleaved;
  const int64_t embedding = two_parts                                     ? o.inputs * (c / 2) + c
                            : o.embedding == examples::Embedding::linear  ? o.inputs * c + c
                            : o.embedding == examples::Embedding::symbols ? o.symbols * c
                                                                          : 0;
  int64_t count = embedding + o.tokens * c + 2 * c + c * o.classes + o.classes;
  for (const int64_t hidden : o.hidden) count += 4 * c + (c * hidden + hidden) + (hidden * c + c);
  return count;
}

}  // namespace

int64_t parameters_of(const ClassifierOptions& model) {
  return other_parameters(model) + model.layers * attention_parameters(model.attention, model.dim);
}

ClassifierOptions close_gap(ClassifierOptions arm, int64_t parameters) {
  const auto gap = static_cast<double>(parameters - parameters_of(arm));
  const auto units = std::llround(gap / static_cast<double>(2 * arm.dim + 1));
  const int64_t each = (units >= 0 ? units : units - arm.layers + 1) / arm.layers, more = units - each * arm.layers;
  for (int64_t layer = 0; layer < arm.layers; ++layer) {
    int64_t& hidden = arm.hidden[static_cast<size_t>(layer)];
    hidden += each + (layer < more ? 1 : 0);
    if (hidden < 1)
      throw tutti::ValueError(tutti::message("close_gap: layer ", layer, " would need a feed-forward of ", hidden,
                                             " to reach ", parameters, " parameters"));
  }
  return arm;
}

std::array<ClassifierOptions, 2> match_arms(const ClassifierOptions& standard,
                                            const GroupedMultiHeadAttentionOptions& attention, Match match) {
  const double g = static_cast<double>(attention.groups);
  ClassifierOptions baseline = standard, grouped = standard;
  GroupedMultiHeadAttentionOptions layer = attention;
  if (match == Match::equal_inner) {
    const int64_t heads = attention.num_heads ? attention.num_heads : attention.groups;
    layer.inner_dim = rounded(4 * g / (g + 3) * static_cast<double>(standard.dim), std::lcm(heads, attention.groups));
  }
  if (match == Match::equal_depth) {
    grouped.layers = std::llround(static_cast<double>(standard.layers) * 12 / (9 + 3 / g));
    grouped.hidden.assign(static_cast<size_t>(grouped.layers), standard.hidden.at(0));
  }
  grouped.attention = layer;
  if (match == Match::shrunk_baseline) {
    const double share = std::sqrt((9 + 3 / g) / 12);
    baseline.dim = rounded(share * static_cast<double>(standard.dim), heads_of(standard.attention));
    for (int64_t& hidden : baseline.hidden)
      hidden = std::llround(static_cast<double>(hidden) * static_cast<double>(baseline.dim) /
                            static_cast<double>(standard.dim));
    baseline = close_gap(baseline, parameters_of(grouped));
  } else if (match != Match::same_width) {
    grouped = close_gap(grouped, parameters_of(baseline));
  }
  return {baseline, grouped};
}

Cost cost_of(const ClassifierOptions& o) {
  const double c = static_cast<double>(o.dim), t = static_cast<double>(o.tokens);
  double projection = c * c, inner = c, out = c * c;  // weights of q (as of k and of v), their width, the output map
  if (const auto* grouped = std::get_if<GroupedMultiHeadAttentionOptions>(&o.attention)) {
    const double groups = static_cast<double>(grouped->groups);
    if (grouped->inner_dim > 0) inner = static_cast<double>(grouped->inner_dim);
    projection = c * inner / groups;
    out = grouped->output == tutti::nn::OutputProjection::none      ? 0
          : grouped->output == tutti::nn::OutputProjection::grouped ? inner * c / groups
                                                                    : inner * c;
  } else if (!std::holds_alternative<MultiHeadAttentionOptions>(o.attention)) {
    throw tutti::ValueError("cost_of: the article has formulae for the standard and the grouped layer only");
  }
  Cost cost;
  const bool two_parts = o.embedding == examples::Embedding::halves || o.embedding == examples::Embedding::interleaved;
  const bool mapped = two_parts || o.embedding == examples::Embedding::linear;
  const double embedding = mapped ? static_cast<double>(o.inputs) * c / (two_parts ? 2 : 1) : 0;
  const double head = c * static_cast<double>(o.classes);
  const double attention = 3 * (projection + inner) + out + (out > 0 ? c : 0);
  cost.parameters = other_parameters(o) + o.layers * std::llround(attention);
  cost.forward_flops = 2 * (t * embedding + head);
  for (int64_t width : o.hidden) {
    const double hidden = static_cast<double>(width);
    cost.forward_flops += 2 * t * (3 * projection + out + 2 * c * hidden) + 4 * t * t * inner;
    cost.activation_floats += 4 * t * c + 4 * t * inner + 2 * t * hidden;
  }
  return cost;
}

}  // namespace comparison
