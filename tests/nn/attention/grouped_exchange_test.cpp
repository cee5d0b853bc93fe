// Exchange between the groups of the grouped layer: each kind against the plain layer, isolation and its end,
// gradients, combinations that are refused.
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
  GroupedMultiHeadAttention layer = started_layer(std::move(options), 21);
  nn::init::normal_(layer.bias, 0, 0.1);
  return layer;
}

/// The layer's weights and biases in a layer without exchange, times a factor.
GroupedMultiHeadAttention plain_of(const GroupedMultiHeadAttention& layer, double factor = 1) {
  Options o = layer.options();
  o.exchange = GroupExchange::none;
  GroupedMultiHeadAttention plain = made(o);
  const no_grad off;
  copy_(plain.weight, mul(layer.weight, factor));
  copy_(plain.bias, mul(layer.bias, factor));
  plain.out = layer.out;
  return plain;
}

}  // namespace

TEST_CASE("exchange: inter_group with A = 0 is the layer whose q, k and v maps are divided by sqrt(2)") {
  GroupedMultiHeadAttention layer = made({.embed_dim = 16, .groups = 4, .exchange = GroupExchange::inter_group});
  nn::init::zeros_(std::get<nn::InterGroupPath>(layer.exchange).weight);
  GroupedMultiHeadAttention plain = plain_of(layer, 1 / std::sqrt(2.0));
  for (const Dims& shape : {Dims{2, 5, 16}, Dims{5, 16}}) {
    const Tensor x = values(shape, 1);
    check_close(layer(x, {.causal = true}).detach(), Array(plain(x, {.causal = true}).detach()), 1e-12);
  }
}

TEST_CASE("exchange: talking heads start as the plain layer, with any heads, mask and window") {
  for (int64_t heads : {2, 4, 8}) {
    GroupedMultiHeadAttention layer =
        made({.embed_dim = 16, .num_heads = heads, .groups = 4, .exchange = GroupExchange::talking_heads});
    GroupedMultiHeadAttention plain = plain_of(layer);
    CHECK(layer.parameter_count() == plain.parameter_count() + 2 * heads * heads);
    for (const Dims& shape : {Dims{2, 5, 16}, Dims{5, 16}})
      for (const AttentionOptions& options : {AttentionOptions{}, AttentionOptions{.causal = true, .window = 2},
                                              AttentionOptions{.mask = values({5, 5}, 7)}}) {
        const Tensor x = values(shape, 1);
        check_close(layer(x, options).detach(), Array(plain(x, options).detach()), 1e-12);
      }
  }
}

TEST_CASE("exchange: shuffle permutes the context before the output projection, as in ShuffleNet") {
  for (OutputProjection output : {OutputProjection::none, OutputProjection::dense, OutputProjection::grouped}) {
    GroupedMultiHeadAttention layer =
        made({.embed_dim = 12, .groups = 3, .output = output, .exchange = GroupExchange::shuffle});
    GroupedMultiHeadAttention context = plain_of(layer);
    context.out = std::monostate();
    const Tensor x = values({2, 5, 12}, 1);
    Tensor want = nn::shuffle_groups(context(x), 3);
    if (auto* dense = std::get_if<nn::Linear>(&layer.out)) want = (*dense)(want);
    if (auto* grouped = std::get_if<nn::GroupedLinear>(&layer.out)) want = (*grouped)(want);
    check_identical(layer(x).detach(), want.detach());
    CHECK(layer.parameter_count() == plain_of(layer).parameter_count());
  }
}

TEST_CASE("exchange: tokens over groups with v = 0 is the plain layer") {
  GroupedMultiHeadAttention layer = made({.embed_dim = 12, .groups = 3, .exchange = GroupExchange::tokens_over_groups});
  const auto& tokens = std::get<nn::TokensOverGroups>(layer.exchange);
  GroupedMultiHeadAttention plain = plain_of(layer);
  const Tensor x = values({2, 5, 12}, 1);
  CHECK(sum(abs(layer(x) - plain(x))).item() > 0.1);
  nn::init::zeros_(select(tokens.weight, 0, 2).detach());
  check_close(layer(x).detach(), Array(plain(x).detach()), 1e-12);
  CHECK(layer.parameter_count() == plain.parameter_count() + 3 * (16 + 4));
}

TEST_CASE("exchange: a cascade of one group is the plain layer, bit for bit, of more, group by group") {
  const Tensor x = values({2, 5, 12}, 1);
  GroupedMultiHeadAttention one =
      made({.embed_dim = 12, .num_heads = 3, .groups = 1, .exchange = GroupExchange::cascade});
  check_identical(one(x).detach(), plain_of(one)(x).detach());

  GroupedMultiHeadAttention layer = made({.embed_dim = 12,
                                          .num_heads = 6,
                                          .groups = 3,
                                          .output = OutputProjection::none,
                                          .exchange = GroupExchange::cascade});
  CHECK(layer.parameter_count() == plain_of(layer).parameter_count());
  const Tensor mask = values({6, 5, 5}, 6);  // one for each head
  const Tensor y = layer(x, {.mask = mask, .causal = true}).detach();
  // The plain layer computes every group; of each, the channels that the cascade's input decides are taken.
  GroupedMultiHeadAttention plain = plain_of(layer);
  const Tensor input = clone(x);
  for (int64_t j = 0; j < 3; ++j) {
    const Tensor found = slice(plain(input, {.mask = mask, .causal = true}).detach(), 2, 4 * j, 4 * j + 4);
    check_close(slice(y, 2, 4 * j, 4 * j + 4), Array(found), 1e-12);
    if (j < 2) {
      const Tensor next = slice(input, 2, 4 * j + 4, 4 * j + 8);
      copy_(next, next + found);
    }
  }
}

TEST_CASE("exchange: a cascade with norm and learned scale of its own groups") {
  GroupedMultiHeadAttention layer = made({.embed_dim = 12,
                                          .groups = 3,
                                          .scale = nn::AttentionScale::learned,
                                          .output = OutputProjection::none,
                                          .norm = nn::ProjectionNorm::per_group,
                                          .exchange = GroupExchange::cascade});
  for (const auto& [name, p] : layer.named_parameters()) nn::init::normal_(p, 1, 0.5);
  Options o = layer.options();
  o.exchange = GroupExchange::none;
  GroupedMultiHeadAttention still = made(o);
  still.load_state_dict(layer.state_dict());
  const Tensor x = values({2, 5, 12}, 1);
  Tensor input = clone(x);
  for (int64_t j = 0; j < 3; ++j) {
    const Tensor found = slice(still(input).detach(), 2, 4 * j, 4 * j + 4);
    check_close(slice(layer(x), 2, 4 * j, 4 * j + 4).detach(), Array(found), 1e-12);
    if (j < 2) {
      const Tensor next = slice(input, 2, 4 * j + 4, 4 * j + 8);
      copy_(next, next + found);
    }
  }
  CHECK(gradcheck_module(layer, [&](const std::vector<Tensor>& in) { return layer(in[0]); },
                         {values({1, 3, 12}, 5).requires_grad_()}));
}

TEST_CASE("exchange: without it groups are isolated, each kind breaks that in its way") {
  const std::vector<bool> only{false, true, false, false}, all{true, true, true, true};
  for (const auto& [exchange, output, seen] :
       {std::tuple{GroupExchange::none, OutputProjection::none, only},
        {GroupExchange::none, OutputProjection::grouped, only},
        {GroupExchange::inter_group, OutputProjection::none, all},
        {GroupExchange::talking_heads, OutputProjection::none, all},
        {GroupExchange::tokens_over_groups, OutputProjection::none, all},
        {GroupExchange::cascade, OutputProjection::none, {true, true, false, false}},  // itself and those before it
        {GroupExchange::cascade, OutputProjection::grouped, {true, true, false, false}},
        {GroupExchange::shuffle, OutputProjection::none, all},
        {GroupExchange::shuffle, OutputProjection::grouped, all}}) {
    GroupedMultiHeadAttention layer = made({.embed_dim = 16, .groups = 4, .output = output, .exchange = exchange});
    if (auto* talking = std::get_if<nn::TalkingHeads>(&layer.exchange)) {
      CHECK(seen_by(layer, 1) == only);  // at the start nobody talks
      nn::init::normal_(talking->before, 0, 1);
    }
    INFO(nn::name_of(exchange));
    CHECK(seen_by(layer, 1) == seen);
  }
}

TEST_CASE("exchange: sparse patterns hide the same keys in talking heads and in a cascade") {
  const auto seen_by_token_0 = [](GroupExchange exchange, nn::SparsityOptions sparsity) {
    GroupedMultiHeadAttention layer =
        made({.embed_dim = 16, .groups = 4, .exchange = exchange, .sparsity = std::move(sparsity)});
    const Tensor x = values({1, 8, 16}, 3).requires_grad_();
    sum(square(select(layer(x), 1, 0))).backward();  // token 0
    std::vector<bool> seen;
    for (int64_t t = 0; t < 8; ++t) seen.push_back(sum(abs(select(x.grad(), 1, t))).item() > 0);
    return seen;
  };
  const std::vector<bool> near{true, true, false, false, false, false, false, false};
  const nn::SparsityOptions window{.pattern = nn::Sparsity::sliding_window, .window = 2},
      blocks{.pattern = nn::Sparsity::block, .block = 2};
  CHECK(seen_by_token_0(GroupExchange::talking_heads, window) == near);
  // One token further with each of the four groups in a row.
  CHECK(seen_by_token_0(GroupExchange::cascade, window) ==
        std::vector<bool>{true, true, true, true, true, false, false, false});
  CHECK(seen_by_token_0(GroupExchange::cascade, blocks) == near);
  CHECK(seen_by_token_0(GroupExchange::inter_group, blocks) == near);
}

TEST_CASE("exchange: gradients of x and of every parameter") {
  for (GroupExchange exchange : {GroupExchange::inter_group, GroupExchange::talking_heads, GroupExchange::shuffle,
                                 GroupExchange::tokens_over_groups, GroupExchange::cascade}) {
    INFO(nn::name_of(exchange));
    GroupedMultiHeadAttention layer = made({.embed_dim = 6, .num_heads = 2, .groups = 2, .exchange = exchange});
    CHECK(gradcheck_module(layer, [&](const std::vector<Tensor>& x) { return layer(x[0], {.causal = true}); },
                           {values({2, 3, 6}, 5).requires_grad_()}));
  }
}

TEST_CASE("exchange: combinations that do not fit say what would") {
  REQUIRE_THROWS_WITH(GroupedMultiHeadAttention(
                          {.embed_dim = 16, .num_heads = 8, .num_kv_heads = 4, .exchange = GroupExchange::inter_group}),
                      "GroupedMultiHeadAttention: exchange = inter_group adds one width to q, k and v, but "
                      "num_kv_heads = 4 makes k and "
                      "v narrower; num_kv_heads = 0 fits");
  REQUIRE_THROWS_WITH(
      GroupedMultiHeadAttention(
          {.embed_dim = 16, .head_mode = nn::HeadMode::literal, .exchange = GroupExchange::talking_heads}),
      "GroupedMultiHeadAttention: exchange = talking_heads mixes heads, and head_mode = literal has one; head_mode = "
      "heads fits");
  REQUIRE_THROWS_WITH(
      GroupedMultiHeadAttention(
          {.embed_dim = 16, .exchange = GroupExchange::talking_heads, .sparsity = {.pattern = nn::Sparsity::block}}),
      "GroupedMultiHeadAttention: exchange = talking_heads computes all scores, so sparsity = block would save "
      "nothing; dense or sliding_window fits");
  const auto cascade = [](Options o) {
    o.embed_dim = 16;
    o.exchange = GroupExchange::cascade;
    GroupedMultiHeadAttention layer(o);
  };
  REQUIRE_THROWS_WITH(cascade({.num_heads = 2}),
                      "GroupedMultiHeadAttention: exchange = cascade runs each group's own heads, and groups = 4 does "
                      "not divide num_heads = 2; num_heads = 4 (or 0) fits");
  REQUIRE_THROWS_WITH(cascade({.num_heads = 8, .num_kv_heads = 4}),
                      "GroupedMultiHeadAttention: exchange = cascade projects each group's q, k and v at once, but "
                      "num_kv_heads = 4 makes k and v narrower; num_kv_heads = 0 fits");
  REQUIRE_THROWS_WITH(cascade({.head_mode = nn::HeadMode::literal}),
                      "GroupedMultiHeadAttention: exchange = cascade runs each group's own heads, and head_mode = "
                      "literal has one for all; head_mode = heads fits");
  REQUIRE_THROWS_WITH(cascade({.inner_dim = 32}),
                      "GroupedMultiHeadAttention: exchange = cascade adds a group's result to the next one's input, so "
                      "their widths must agree; inner_dim = 16 (or 0) fits, not 32");
  REQUIRE_THROWS_WITH(cascade({.norm = nn::ProjectionNorm::full}),
                      "GroupedMultiHeadAttention: exchange = cascade has the groups one after another, so norm = full "
                      "cannot span them; per_group fits");
}

TEST_CASE("exchange: a cascade takes the masks that the plain layer takes, and refuses the others by its own heads") {
  const Options o{.embed_dim = 16, .num_heads = 8, .groups = 4, .exchange = GroupExchange::cascade};
  GroupedMultiHeadAttention layer = made(o);
  const Tensor x = values({2, 5, 16}, 1);
  for (const Dims& shape : {Dims{3, 5, 5}, Dims{2, 5, 5}, Dims{4, 5, 5}, Dims{10, 5, 5}, Dims{2, 2, 1, 5}}) {
    const AttentionOptions call{.mask = values(shape, 6)};
    REQUIRE_THROWS_AS(layer(x, call), ShapeError);
    REQUIRE_THROWS_WITH(layer(x, call), "GroupedMultiHeadAttention: mask of shape " + to_string(shape) +
                                            " does not broadcast to the scores' [2, 8, 5, 5]");
    REQUIRE_THROWS_WITH(plain_of(layer)(x, call), Contains("mask of shape " + to_string(shape) +
                                                           " does not broadcast to the scores' [2, 8, 5, 5]"));
  }
  REQUIRE_THROWS_WITH(layer(select(x, 0, 0), {.mask = values({4, 5, 5}, 6)}),
                      Contains("mask of shape [4, 5, 5] does not broadcast to the scores' [1, 8, 5, 5]"));
  REQUIRE_THROWS_WITH(layer(x, {.mask = ones({5, 5})}),
                      "GroupedMultiHeadAttention: mask must be bool or float64, not float32");
  // One for all heads, and one for each sample and head: the first group, which no other feeds, sees its own heads'.
  for (const Dims& shape : {Dims{5, 5}, Dims{1, 5, 5}, Dims{8, 1, 5}, Dims{2, 8, 5, 5}, Dims{2, 1, 1, 5}}) {
    const AttentionOptions call{.mask = values(shape, 6)};
    Options none = o;
    none.output = OutputProjection::none;
    GroupedMultiHeadAttention bare = made(none);
    check_close(slice(bare(x, call), 2, 0, 4).detach(), Array(slice(plain_of(bare)(x, call), 2, 0, 4).detach()), 1e-12);
  }
}
