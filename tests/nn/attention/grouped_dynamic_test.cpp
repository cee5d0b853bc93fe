// Dynamic groups inside the grouped layer: against static layers, the penalty, isolation, refused combinations.
#include <cmath>
#include <limits>

#include "support/grouped_layer.h"
#include "support/module_gradcheck.h"
#include "tutti/core/error.h"
#include "tutti/nn/init.h"
#include "tutti/ops/create.h"
#include "tutti/ops/reduce.h"
#include "tutti/ops/shape.h"
#include "tutti/ops/unary.h"

using namespace tutti;
using namespace tutti_test;

namespace {

GroupedMultiHeadAttention made(Options options) {
  GroupedMultiHeadAttention layer = started_layer(std::move(options), 22);
  if (layer.dynamic) {
    nn::init::normal_(layer.dynamic->bias, 0, 0.1);
    nn::init::normal_(layer.dynamic->gate.weight, 0, 3);
  }
  return layer;
}

/// The static layer of one candidate; heads and scale are the dynamic layer's.
GroupedMultiHeadAttention still(const GroupedMultiHeadAttention& layer, int64_t groups) {
  Options o = layer.options();
  o.dynamic.candidates.clear();
  o.groups = groups;
  o.scale = nn::AttentionScale::head_dim;
  GroupedMultiHeadAttention plain = made(o);
  const no_grad off;
  copy_(plain.weight, layer.dynamic->blocks(groups));
  copy_(plain.bias, layer.dynamic->bias);
  plain.out = layer.out;
  return plain;
}

}  // namespace

TEST_CASE("dynamic layer: one candidate is the static layer with the dense weight's blocks") {
  for (int64_t groups : {1, 2, 4}) {
    GroupedMultiHeadAttention layer = made(
        {.embed_dim = 16, .num_heads = 4, .scale = nn::AttentionScale::head_dim, .dynamic = {.candidates = {groups}}});
    GroupedMultiHeadAttention plain = still(layer, groups);
    CHECK_FALSE(layer.weight.defined());
    for (const Dims& shape : {Dims{3, 5, 16}, Dims{5, 16}}) {
      const Tensor x = values(shape, 1);
      check_close(layer(x, {.window = 2}).detach(), Array(plain(x, {.window = 2}).detach()), 1e-12);
      layer.eval();
      check_close(layer(x, {.window = 2}).detach(), Array(plain(x, {.window = 2}).detach()), 1e-12);
      layer.train();
    }
  }
}

TEST_CASE("dynamic layer: in evaluation each sample gets its choice's static layer") {
  GroupedMultiHeadAttention layer = made({.embed_dim = 16,
                                          .num_heads = 4,
                                          .inner_dim = 32,
                                          .scale = nn::AttentionScale::head_dim,
                                          .dynamic = {.candidates = {1, 2, 4}}});
  layer.eval();
  const Tensor x = values({12, 5, 16}, 2), y = layer(x).detach();
  const auto choice = layer.dynamic->choice().to_vector<int64_t>();
  for (int64_t b = 0; b < 12; ++b) {
    GroupedMultiHeadAttention plain = still(layer, int64_t{1} << choice[static_cast<size_t>(b)]);
    check_close(select(y, 0, b), Array(plain(select(x, 0, b)).detach()), 1e-12);
  }
  CHECK(layer.dynamic->flops_share().item() >= 0.25);
  CHECK(layer.dynamic->flops_share().item() <= 1);
}

TEST_CASE("dynamic layer: gradients in evaluation, and of the penalty") {
  GroupedMultiHeadAttention layer =
      made({.embed_dim = 8, .groups = 2, .dynamic = {.candidates = {1, 2}, .temperature = 2}});
  layer.eval();
  CHECK(gradcheck_module(layer, [&](const std::vector<Tensor>& x) { return layer(x[0]); },
                         {values({3, 3, 8}, 5).requires_grad_()}));
  layer.train();
  const Tensor x = values({3, 3, 8}, 5);
  const Tensor loss = sum(square(layer(x))) + 0.1 * layer.dynamic->flops_share();
  loss.backward();
  for (const auto& [name, p] : layer.named_parameters()) {
    INFO(name);
    CHECK(sum(abs(p.grad())).item() > 0);
  }
}

TEST_CASE("dynamic layer: groups are isolated as far as the choice says") {
  for (int64_t groups : {1, 2, 4}) {
    GroupedMultiHeadAttention layer =
        made({.embed_dim = 16, .output = OutputProjection::none, .dynamic = {.candidates = {groups}}});
    layer.eval();
    const Tensor x = values({2, 5, 16}, 3).requires_grad_();
    sum(square(slice(layer(x), 2, 0, 4))).backward();
    for (int64_t c = 0; c < 16; ++c) CHECK((sum(abs(select(x.grad(), 2, c))).item() > 0) == (c < 16 / groups));
  }
}

TEST_CASE("dynamic layer: works with shuffle, talking heads and tokens over groups") {
  for (GroupExchange exchange :
       {GroupExchange::shuffle, GroupExchange::talking_heads, GroupExchange::tokens_over_groups}) {
    GroupedMultiHeadAttention layer = made({.embed_dim = 16, .exchange = exchange, .dynamic = {.candidates = {2, 4}}});
    const Tensor x = values({2, 5, 16}, 3);
    const Tensor y = layer(x).detach();
    layer.eval();
    check_close(layer(x).detach(), Array(y), 1e-12);
  }
}

TEST_CASE("dynamic layer: combinations that do not fit say what would") {
  const auto dynamic = [](Options o) {
    o.embed_dim = 24;
    if (o.dynamic.candidates.empty()) o.dynamic.candidates = {1, 2, 4};
    GroupedMultiHeadAttention layer(o);
  };
  REQUIRE_THROWS_WITH(dynamic({.exchange = GroupExchange::inter_group}),
                      "GroupedMultiHeadAttention: exchange = inter_group with dynamic.candidates: it needs the same "
                      "groups for every sample; none, shuffle, talking_heads or tokens_over_groups fits");
  REQUIRE_THROWS_WITH(dynamic({.exchange = GroupExchange::cascade}),
                      Contains("exchange = cascade with dynamic.candidates: it needs the same groups"));
  REQUIRE_THROWS_WITH(
      dynamic({.init = nn::InitSchedule::inverse_index}),
      "GroupedMultiHeadAttention: init = inverse_index with dynamic.candidates: its gains are for groups "
      "that do not change; constant fits");
  REQUIRE_THROWS_WITH(
      dynamic({.num_kv_heads = 2}),
      "GroupedMultiHeadAttention: num_kv_heads = 2 with dynamic.candidates: q, k and v have one weight of "
      "one width; 0 fits");
  REQUIRE_THROWS_WITH(dynamic({.num_heads = 6, .groups = 3}),
                      "GroupedMultiHeadAttention: dynamic.candidates: 4 is neither a multiple nor a divisor of "
                      "num_heads = 6; num_heads = 4 with groups = 4 fits all of them");
  REQUIRE_NOTHROW(dynamic({.num_heads = 4, .groups = 4}));
  REQUIRE_THROWS_WITH(dynamic({.dynamic = {.candidates = {1, 3, 6}}}),
                      "GroupedMultiHeadAttention: dynamic.candidates: 3 is neither a multiple nor a divisor of "
                      "num_heads = 4; num_heads = 6 with groups = 6 fits all of them");
  REQUIRE_NOTHROW(dynamic({.num_heads = 6, .groups = 6, .dynamic = {.candidates = {1, 3, 6}}}));
  REQUIRE_THROWS_WITH(dynamic({.num_heads = 2, .groups = 2, .dynamic = {.candidates = {1, 3, 12}}}),
                      Contains("num_heads = 2; num_heads = 12 fits all of them"));
  REQUIRE_NOTHROW(dynamic({.num_heads = 12, .groups = 2, .dynamic = {.candidates = {1, 3, 12}}}));
  REQUIRE_THROWS_WITH(dynamic({.inner_dim = 36, .dynamic = {.candidates = {1, 8}}}),
                      Contains("dynamic.candidates = 8 does not divide inner_dim = 36; "));
  REQUIRE_THROWS_WITH(GroupedMultiHeadAttention({.embed_dim = 24, .dynamic = {.temperature = -1}}),
                      "GroupedMultiHeadAttention: dynamic.temperature is -1; it must be positive");
  REQUIRE_THROWS_WITH(dynamic({.dynamic = {.candidates = {2, 3}}}),
                      "GroupedMultiHeadAttention: dynamic.candidates = {2, 3}: 3 is no multiple of 2 before it; each "
                      "must divide the next, as in {1, 2, 4, 8}");
  REQUIRE_THROWS_WITH(dynamic({.dynamic = {.candidates = {1, 2}, .temperature = 0}}),
                      "GroupedMultiHeadAttention: dynamic.temperature is 0; it must be positive");
}

TEST_CASE("dynamic layer: under a key mask the choice and the result are those of the shown tokens alone") {
  constexpr double hidden = -std::numeric_limits<double>::infinity();
  GroupedMultiHeadAttention layer = made({.embed_dim = 16, .num_heads = 4, .dynamic = {.candidates = {1, 2, 4}}});
  const int64_t batch = 8, tokens = 6;
  for (bool training : {true, false})
    for (bool alike : {false, true}) {  // the same tokens of every sample, in masks of several shapes
      layer.train(training);
      const Tensor x = values({batch, tokens, 16}, 2);
      std::vector<bool> shown;
      std::vector<double> added;
      for (int64_t b = 0; b < (alike ? 1 : batch); ++b)
        for (int64_t t = 0; t < tokens; ++t) {
          shown.push_back(t < (alike ? 4 : 1 + b % tokens));
          added.push_back(shown.back() ? 0 : hidden);
        }
      const Dims flat{static_cast<int64_t>(shown.size())};
      std::vector<Tensor> masks;
      for (const Tensor& m : {Tensor::from(shown, flat), Tensor::from(added, flat)}) {
        masks.push_back(reshape(m, {-1, 1, 1, tokens}));
        if (alike) masks.insert(masks.end(), {m, reshape(m, {1, tokens}), reshape(m, {1, 1, tokens})});
      }
      for (const Tensor& mask : masks)
        for (double bad : {std::nan(""), 50.0}) {
          const Tensor padded = clone(x);
          std::vector<Tensor> alone;
          std::vector<int64_t> choices;
          for (int64_t b = 0; b < batch; ++b) {
            const int64_t n = alike ? 4 : 1 + b % tokens;
            if (n < tokens) fill_(slice(select(padded, 0, b), 0, n, tokens), bad);
            alone.push_back(layer(slice(select(x, 0, b), 0, 0, n)).detach());
            choices.push_back(layer.dynamic->choice().to_vector<int64_t>()[0]);
          }
          const Tensor y = layer(padded, {.mask = mask}).detach();
          CHECK(layer.dynamic->choice().to_vector<int64_t>() == choices);
          for (int64_t b = 0; b < batch; ++b)
            check_close(slice(select(y, 0, b), 0, 0, alone[static_cast<size_t>(b)].size(0)),
                        Array(alone[static_cast<size_t>(b)]), 1e-12);
        }
    }
}

TEST_CASE("dynamic layer: calls whose first tokens would depend on the last are refused") {
  GroupedMultiHeadAttention layer = made({.embed_dim = 16, .num_heads = 4, .dynamic = {.candidates = {1, 2}}});
  const Tensor x = values({2, 5, 16}, 1);
  const auto call = [&](const AttentionOptions& options) { layer(x, options); };
  REQUIRE_THROWS_AS(call({.causal = true}), ValueError);
  REQUIRE_THROWS_WITH(call({.causal = true}),
                      "GroupedMultiHeadAttention: causal with dynamic.candidates: the gate reads the mean of all "
                      "tokens, so that the result of the first would depend on the last; fixed groups (no candidates) "
                      "fit");
  for (const Dims& shape : {Dims{5, 5}, Dims{5, 1}, Dims{4, 1, 5}, Dims{2, 4, 1, 5}, Dims{2, 1, 5, 5}})
    REQUIRE_THROWS_WITH(call({.mask = to(ones(shape), DType::boolean)}),
                        "GroupedMultiHeadAttention: mask of shape " + to_string(shape) +
                            " with dynamic.candidates: the gate reads one mean of tokens for each sample, so a mask "
                            "must hide the same keys from all queries and heads, as one of shape [2, 1, 1, 5] does; or "
                            "fixed groups (no candidates) fit");
  REQUIRE_THROWS_WITH(call({.mask = to(ones({3}), DType::boolean)}),
                      "GroupedMultiHeadAttention: mask of shape [3] does not broadcast to the scores' [2, 4, 5, 5]");
  REQUIRE_THROWS_WITH(call({.mask = ones({5})}),
                      "GroupedMultiHeadAttention: mask must be bool or float64, not float32");
  // A window or layout hides keys from queries, not tokens from the gate.
  call({.window = 2});
  const Tensor near = layer.dynamic->choice();
  call({.layout = to(eye(5), DType::boolean), .block = 1});
  check_identical(near, layer.dynamic->choice());
  call({});
  check_identical(near, layer.dynamic->choice());
}
