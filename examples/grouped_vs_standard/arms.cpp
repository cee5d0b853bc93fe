#include "grouped_vs_standard/arms.h"

#include <cmath>

#include "tutti/tutti.h"

namespace comparison {

using examples::Kind;

namespace {

/// Parameters of one attention layer, biases counted: q, k, v and the dense output.
int64_t attention_parameters(Kind kind, int64_t c, int64_t groups) {
  return 3 * (c * c / (kind == Kind::standard ? 1 : groups) + c) + c * c + c;
}

Arm describe(const std::string& name, const examples::ClassifierOptions& o) {
  Arm arm{name, o, 0, 0, 0};
  const int64_t c = o.dim, t = o.tokens;
  arm.parameters = o.inputs * c + c + t * c + 2 * c + c * o.classes + o.classes;
  arm.forward_flops = 2.0 * static_cast<double>(t * o.inputs * c + c * o.classes);
  for (int64_t hidden : o.hidden) {
    const int64_t qkv = 3 * c * c / (o.kind == Kind::standard ? 1 : o.groups);
    arm.parameters += attention_parameters(o.kind, c, o.groups) + 4 * c + 2 * c * hidden + hidden + c;
    arm.forward_flops +=
        2.0 * static_cast<double>(t * (qkv + c * c + 2 * c * hidden)) + 4.0 * static_cast<double>(t * t * c);
    arm.activation_floats += static_cast<double>(8 * t * c + 2 * t * hidden);  // (4 + 4e + 2r) T C with e = 1
  }
  return arm;
}

}  // namespace

Match match_from(const std::string& name) {
  if (name == "equal_ffn") return Match::equal_ffn;
  if (name == "same_width") return Match::same_width;
  throw tutti::ValueError("match '" + name + "': expected equal_ffn or same_width");
}

std::vector<Arm> make_arms(const Protocol& p, Match match) {
  examples::ClassifierOptions standard{.kind = Kind::standard,
                                       .inputs = p.patch * p.patch,
                                       .tokens = p.tokens(),
                                       .dim = p.dim,
                                       .heads = p.heads,
                                       .groups = p.groups,
                                       .layers = p.layers,
                                       .classes = p.classes};
  standard.hidden.assign(static_cast<size_t>(p.layers), std::llround(p.ratio * static_cast<double>(p.dim)));
  examples::ClassifierOptions grouped = standard;
  grouped.kind = Kind::grouped;
  if (match == Match::equal_ffn) {
    const int64_t saved =
        attention_parameters(Kind::standard, p.dim, p.groups) - attention_parameters(Kind::grouped, p.dim, p.groups);
    const auto units =
        std::llround(static_cast<double>(saved * p.layers) / static_cast<double>(2 * p.dim + 1));  // of all layers
    for (int64_t layer = 0; layer < p.layers; ++layer)
      grouped.hidden[static_cast<size_t>(layer)] += units / p.layers + (layer < units % p.layers ? 1 : 0);
  }
  return {describe("standard", standard), describe("grouped", grouped)};
}

double parameter_gap(const std::vector<Arm>& arms) {
  return std::abs(static_cast<double>(arms[1].parameters - arms[0].parameters)) /
         static_cast<double>(arms[0].parameters);
}

}  // namespace comparison
