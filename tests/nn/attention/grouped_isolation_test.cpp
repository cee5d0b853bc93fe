// What the grouped layer's groups see of one another: results, and gradients of weights.
#include "support/grouped_layer.h"
#include "tutti/nn/attention/grouped_attention.h"
#include "tutti/ops/arithmetic.h"
#include "tutti/ops/copy.h"
#include "tutti/ops/create.h"
#include "tutti/ops/extrema.h"
#include "tutti/ops/reduce.h"
#include "tutti/ops/shape.h"
#include "tutti/ops/unary.h"

using namespace tutti;
using namespace tutti_test;

namespace {

/// A row for each group of outputs: the groups of inputs that it sees.
std::vector<std::vector<bool>> seen_by_all(GroupedMultiHeadAttention& layer) {
  std::vector<std::vector<bool>> rows;
  for (int64_t i = 0; i < layer.options().groups; ++i) rows.push_back(seen_by(layer, i));
  return rows;
}

/// A column [0, 0, .., 1 (group i), .., 0] over C channels.
Tensor only_group(int64_t i, int64_t groups, int64_t c) {
  const Tensor x = zeros({c}, {.dtype = DType::float64});
  fill_(slice(x, 0, i * c / groups, (i + 1) * c / groups), 1);
  return x;
}

}  // namespace

TEST_CASE("grouped attention: which options keep groups apart end to end, and which do not (C17)") {
  const std::vector<std::vector<bool>> apart{{true, false, false}, {false, true, false}, {false, false, true}};
  const Options base{.embed_dim = 12, .groups = 3, .output = OutputProjection::grouped};
  std::vector<std::tuple<const char*, Options, bool>> cases{{"default heads", base, true}};
  const auto add_case = [&](const char* name, bool isolated, auto change) {
    Options o = base;
    change(o);
    cases.emplace_back(name, o, isolated);
  };
  add_case("no output projection", true, [](Options& o) { o.output = OutputProjection::none; });
  add_case("two heads a group", true, [](Options& o) { o.num_heads = 6; });
  add_case("shared k/v heads", true, [](Options& o) { o.num_heads = 6, o.num_kv_heads = 3; });
  add_case("inner width", true, [](Options& o) { o.inner_dim = 24; });
  add_case("learned scale", true, [](Options& o) { o.scale = AttentionScale::learned; });
  add_case("norm per group", true, [](Options& o) { o.norm = ProjectionNorm::per_group; });
  add_case("group dropout", true, [](Options& o) { o.group_dropout.rates = {0.1, 0.2, 0.3}; });
  add_case("dense output", false, [](Options& o) { o.output = OutputProjection::dense; });
  add_case("literal", false, [](Options& o) { o.head_mode = HeadMode::literal; });
  add_case("one head", false, [](Options& o) { o.num_heads = 1; });
  add_case("one k/v head", false, [](Options& o) { o.num_heads = 3, o.num_kv_heads = 1, o.inner_dim = 36; });
  add_case("norm over all", false, [](Options& o) { o.norm = ProjectionNorm::full; });
  for (const auto& [name, o, isolated] : cases) {
    INFO(name);
    GroupedMultiHeadAttention layer = random_layer(o, 9);
    CHECK((seen_by_all(layer) == apart) == isolated);
  }
}

TEST_CASE("grouped attention: a group's weight gradient depends on its own input and result only (C17)") {
  for (const auto& [output, mode, isolated] : {std::tuple{OutputProjection::grouped, HeadMode::heads, true},
                                               {OutputProjection::none, HeadMode::heads, true},
                                               {OutputProjection::dense, HeadMode::heads, false},
                                               {OutputProjection::grouped, HeadMode::literal, false}}) {
    GroupedMultiHeadAttention layer =
        random_layer({.embed_dim = 12, .groups = 3, .head_mode = mode, .output = output}, 9);
    const Tensor x = random_tensor({2, 5, 12}, DType::float64, 1), dy = random_tensor({2, 5, 12}, DType::float64, 2);
    const auto gradient = [&](const Tensor& input, const Tensor& result_gradient) {
      layer.zero_grad();
      layer(input).backward(result_gradient);
      return select(layer.weight.tensor().grad(), 1, 1);
    };
    const Tensor own = only_group(1, 3, 12);
    const double moved = max(abs(gradient(x, dy) - gradient(x * own, dy * own))).item();
    INFO(name_of(output) << ", " << name_of(mode));
    CHECK((moved < 1e-14) == isolated);
    CHECK(norm(gradient(x * own, dy * own)).item() > 1e-3);
  }
}
