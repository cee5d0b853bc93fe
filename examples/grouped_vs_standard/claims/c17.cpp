#include <fmt/format.h>

#include "grouped_vs_standard/claims/claim.h"
#include "grouped_vs_standard/claims/exact.h"

namespace comparison {

using namespace tutti;

namespace {

using Options = nn::GroupedMultiHeadAttentionOptions;
using nn::OutputProjection;

struct Case {
  const char* name;
  Options options;
  bool isolated;  ///< what the mathematics says
};

/// C = 16, G = 4. Isolated where heads do not cross groups and the output projection does not mix them.
std::vector<Case> cases() {
  const auto make = [](OutputProjection output, int64_t heads, nn::HeadMode mode = nn::HeadMode::heads) {
    return Options{.embed_dim = 16, .num_heads = heads, .groups = 4, .head_mode = mode, .output = output};
  };
  return {
      {"H = G, no output projection", make(OutputProjection::none, 4), true},
      {"H = 2 G, no output projection", make(OutputProjection::none, 8), true},
      {"H = G, grouped output", make(OutputProjection::grouped, 4), true},
      {"H = 2 G, grouped output", make(OutputProjection::grouped, 8), true},
      {"H = G, dense output", make(OutputProjection::dense, 4), false},
      {"H = G/2, no output projection", make(OutputProjection::none, 2), false},
      {"as printed: single map, no output projection", make(OutputProjection::none, 0, nn::HeadMode::literal), false}};
}

nn::GroupedMultiHeadAttention layer_of(const Options& options) {
  nn::GroupedMultiHeadAttention layer(options);
  layer.to(DType::float64);
  randomize(layer, 60);
  return layer;
}

/// Is the Jacobian of results by inputs block-diagonal, with exact zeros elsewhere?
bool jacobian_isolated(const Options& options) {
  nn::GroupedMultiHeadAttention layer = layer_of(options);
  const auto rows = reach(layer, 7);
  for (size_t j = 0; j < rows.size(); ++j)
    for (size_t i = 0; i < rows.size(); ++i)
      if (rows[j][i] != (i == j)) return false;
  return true;
}

/// Is the gradient of group 1's weights the same when input and result gradient of all other groups are set to 0?
bool gradient_isolated(const Options& options) {
  nn::GroupedMultiHeadAttention layer = layer_of(options);
  const Tensor x = normal_numbers({2, 5, 16}, DType::float64, 8), dy = normal_numbers({2, 5, 16}, DType::float64, 9);
  const Tensor own = zeros({16}, {.dtype = DType::float64});
  fill_(slice(own, 0, 4, 8), 1);
  const auto gradient = [&](const Tensor& input, const Tensor& result_gradient) {
    layer.zero_grad();
    layer(input).backward(result_gradient);
    return clone(select(layer.weight.tensor().grad(), 1, 1));
  };
  return relative_difference(gradient(x * own, dy * own), gradient(x, dy)) < 1e-12;
}

}  // namespace

Claim c17();
Claim c17() {
  return {17, "Each group's gradient depends only on its own input and output.",
          "Jacobian of results by inputs (exact zeros between groups?) and the gradient of one group's weights with "
          "the other groups' inputs and result gradients set to 0. Holds if that is so for the layer as printed; else "
          "refuted, with the head layouts and output projections for which it is true.",
          [](Lab&) {
            Table table{"Isolation of groups, end to end",
                        {"layer", "Jacobian", "gradient of weights", "by the mathematics"},
                        {}};
            const auto word = [](bool isolated) { return std::string(isolated ? "isolated" : "mixed"); };
            bool printed = false;
            size_t as_expected = 0;
            for (const Case& c : cases()) {
              const bool jacobian = jacobian_isolated(c.options), gradient = gradient_isolated(c.options);
              table.rows.push_back({c.name, word(jacobian), word(gradient), word(c.isolated)});
              as_expected += jacobian == c.isolated && gradient == c.isolated;
              printed = jacobian && gradient;  // the last case is the printed layer
            }
            Finding f;
            f.verdict = printed ? "holds" : "refuted";
            f.effect = fmt::format("{} of {} layouts as the mathematics says", as_expected, table.rows.size());
            if (!printed)
              f.why =
                  "The printed layer's single map adds up the scores of all groups, so each group's weights move with "
                  "every other group; which layouts keep groups apart is in the table.";
            f.tables.push_back(table);
            return f;
          }};
}

}  // namespace comparison
