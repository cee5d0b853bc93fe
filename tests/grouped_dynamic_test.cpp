// Dynamic groups inside the grouped layer: against static layers, the penalty, isolation, refused combinations.
#include <cmath>

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
  manual_seed(22);
  GroupedMultiHeadAttention layer(std::move(options));
  layer.to(DType::float64);
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
      check_close(layer(x, {.causal = true}).detach(), Array(plain(x, {.causal = true}).detach()), 1e-12);
      layer.eval();
      check_close(layer(x, {.causal = true}).detach(), Array(plain(x, {.causal = true}).detach()), 1e-12);
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
                      "num_heads = 6; num_heads = 4 fits all of them");
  REQUIRE_THROWS_WITH(dynamic({.dynamic = {.candidates = {2, 3}}}),
                      "GroupedMultiHeadAttention: dynamic.candidates = {2, 3}: 3 is no multiple of 2 before it; each "
                      "must divide the next, as in {1, 2, 4, 8}");
  REQUIRE_THROWS_WITH(dynamic({.dynamic = {.candidates = {1, 2}, .temperature = 0}}),
                      "GroupedMultiHeadAttention: dynamic.temperature is 0; it must be positive");
}
