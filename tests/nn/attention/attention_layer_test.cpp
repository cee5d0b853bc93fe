// Standard and grouped multi-head attention: the identities between them, what groups see, counts, starts, errors.
#include <cmath>

#include "support/grouped_layer.h"
#include "tutti/autograd/node.h"
#include "tutti/core/error.h"
#include "tutti/nn/attention/grouped_attention.h"
#include "tutti/nn/attention/multi_head_attention.h"
#include "tutti/nn/init.h"
#include "tutti/ops/arithmetic.h"
#include "tutti/ops/copy.h"
#include "tutti/ops/create.h"
#include "tutti/ops/index.h"
#include "tutti/ops/linear.h"
#include "tutti/ops/reduce.h"
#include "tutti/ops/shape.h"
#include "tutti/ops/unary.h"

using namespace tutti;
using namespace tutti_test;
using nn::MultiHeadAttention;

namespace {

/// Writes blocks [3, G, g, g] into the diagonal of the dense [3 C, C].
void set_block_diagonal(const Tensor& dense, const Tensor& blocks) {
  const no_grad off;
  fill_(dense, 0);
  const int64_t groups = blocks.size(1), g = blocks.size(2);
  const Tensor d = reshape(dense, {3, groups, g, groups, g});
  for (int64_t i = 0; i < groups; ++i) copy_(select(select(d, 1, i), 2, i), select(blocks, 1, i));
}

Tensor diagonal_of(const Tensor& dense, int64_t groups) {
  const int64_t g = dense.size(1) / groups;
  const Tensor d = reshape(dense, {3, groups, g, groups, g}), blocks = zeros({3, groups, g, g}, {dense.dtype()});
  for (int64_t i = 0; i < groups; ++i) copy_(select(blocks, 1, i), select(select(d, 1, i), 2, i));
  return blocks;
}

Tensor leaf(const Dims& shape, DType dtype, uint64_t seed) {
  return random_tensor(shape, dtype, seed).requires_grad_();
}

}  // namespace

TEST_CASE("attention layers: G = 1 with scale head_dim is the standard layer bit for bit (C1)") {
  for (DType dtype : {DType::float32, DType::float64}) {
    manual_seed(11);
    MultiHeadAttention standard({.embed_dim = 24, .num_heads = 3});
    manual_seed(11);
    GroupedMultiHeadAttention grouped(
        {.embed_dim = 24, .num_heads = 3, .groups = 1, .scale = AttentionScale::head_dim});
    standard.to(dtype);
    grouped.to(dtype);
    check_identical(reshape(grouped.weight, {72, 24}).detach(), standard.qkv.weight.tensor().detach());
    check_identical(std::get<nn::Linear>(grouped.out).weight.tensor().detach(), standard.out.weight.tensor().detach());
    for (bool causal : {false, true}) {
      standard.zero_grad();
      grouped.zero_grad();
      const Tensor x1 = leaf({3, 9, 24}, dtype, 5), x2 = leaf({3, 9, 24}, dtype, 5);
      const Tensor a = standard(x1, AttentionOptions{.causal = causal});
      const Tensor b = grouped(x2, AttentionOptions{.causal = causal});
      check_identical(a.detach(), b.detach());
      const Tensor dy = random_tensor(a.shape(), dtype, 6);
      a.backward(dy);
      b.backward(dy);
      check_identical(x1.grad(), x2.grad());
      check_identical(standard.qkv.weight.tensor().grad(), reshape(grouped.weight.tensor().grad(), {72, 24}));
      check_identical(standard.qkv.bias.tensor().grad(), grouped.bias.tensor().grad());
      check_identical(standard.out.weight.tensor().grad(), std::get<nn::Linear>(grouped.out).weight.tensor().grad());
    }
  }
}

TEST_CASE("attention layers: G = 4 is the dense layer with block-diagonal weights (C1)") {
  for (DType dtype : {DType::float32, DType::float64})
    for (int64_t heads : {2, 4, 8})
      for (bool causal : {false, true}) {
        INFO(name_of(dtype) << ", " << heads << " heads, causal " << causal);
        const double tolerance = dtype == DType::float64 ? 1e-12 : 1e-5;
        manual_seed(12);
        GroupedMultiHeadAttention grouped(
            {.embed_dim = 32, .num_heads = heads, .groups = 4, .scale = AttentionScale::head_dim});
        MultiHeadAttention dense({.embed_dim = 32, .num_heads = heads});
        grouped.to(dtype);
        dense.to(dtype);
        nn::init::normal_(grouped.bias, 0, 0.1);
        set_block_diagonal(dense.qkv.weight, grouped.weight);
        dense.qkv.bias = grouped.bias;
        dense.out = std::get<nn::Linear>(grouped.out);
        const Tensor x1 = leaf({2, 7, 32}, dtype, 7), x2 = leaf({2, 7, 32}, dtype, 7);
        const Tensor a = grouped(x1, AttentionOptions{.causal = causal});
        const Tensor b = dense(x2, AttentionOptions{.causal = causal});
        check_close(a.detach(), Array(b.detach()), tolerance);
        const Tensor dy = random_tensor(a.shape(), dtype, 8);
        a.backward(dy);
        b.backward(dy);
        check_close(x1.grad(), Array(x2.grad()), tolerance);
        check_close(grouped.weight.tensor().grad(), Array(diagonal_of(dense.qkv.weight.tensor().grad(), 4)), tolerance);
        check_close(grouped.bias.tensor().grad(), Array(dense.qkv.bias.tensor().grad()), tolerance);
        check_close(std::get<nn::Linear>(grouped.out).weight.tensor().grad(), Array(dense.out.weight.tensor().grad()),
                    tolerance);
      }
}

TEST_CASE("attention layers: a group's projections see its own channels only (C9)") {
  const GroupedMultiHeadAttention layer({.embed_dim = 16, .groups = 4});
  const Tensor x = random_tensor({1, 3, 16}, DType::float32, 1), moved = clone(x);
  fill_(slice(moved, 2, 8, 12), 5);  // group 2
  const Tensor a = grouped_linear(x, layer.weight, layer.bias), b = grouped_linear(moved, layer.weight, layer.bias);
  for (int64_t channel = 0; channel < 48; ++channel) {
    const bool changed = a.at({0, 1, channel}) != b.at({0, 1, channel});
    CHECK(changed == (channel % 16 / 4 == 2));
  }
}

TEST_CASE("attention layers: gradients stay in their group end to end where the reading says so (C17)") {
  for (const auto& [output, heads, isolated] : {std::tuple{OutputProjection::none, 4, true},
                                                {OutputProjection::none, 8, true},
                                                {OutputProjection::grouped, 4, true},
                                                {OutputProjection::none, 2, false},
                                                {OutputProjection::none, 1, false},
                                                {OutputProjection::dense, 4, false},
                                                {OutputProjection::dense, 8, false}}) {
    GroupedMultiHeadAttention layer =
        started_layer({.embed_dim = 16, .num_heads = heads, .groups = 4, .output = output}, 13);
    const auto sums = reach(layer, 1);
    INFO("output " << static_cast<int>(output) << ", heads " << heads);
    CHECK(sums[1] > 1e-3);
    double elsewhere = 0;
    for (size_t i = 0; i < 4; ++i)
      if (i != 1) elsewhere += sums[i];
    CHECK((elsewhere == 0) == isolated);
  }
}

TEST_CASE("attention layers: parameter counts equal the formulae (C8)") {
  for (int64_t c : {32, 48})
    for (int64_t g : {1, 2, 4, 8}) {
      CHECK(MultiHeadAttention({.embed_dim = c, .num_heads = 4}).parameter_count() == 4 * c * c + 4 * c);
      const auto count = [&](OutputProjection output) {
        return GroupedMultiHeadAttention({.embed_dim = c, .groups = g, .output = output}).parameter_count();
      };
      CHECK(count(OutputProjection::none) == 3 * c * c / g + 3 * c);
      CHECK(count(OutputProjection::dense) == c * c + 3 * c * c / g + 4 * c);
      CHECK(count(OutputProjection::grouped) == 4 * c * c / g + 4 * c);
    }
  CHECK(MultiHeadAttention({.embed_dim = 8, .bias = false}).parameter_count() == 4 * 64);
  CHECK(GroupedMultiHeadAttention({.embed_dim = 8, .bias = false}).parameter_count() == 64 + 3 * 16);
  CHECK(GroupedMultiHeadAttention({.embed_dim = 8}).options().groups == 4);
  CHECK(GroupedMultiHeadAttention({.embed_dim = 8}).options().num_heads == 4);
}

TEST_CASE("attention layers: the scales") {
  const auto scale = [](AttentionScale s) {
    return GroupedMultiHeadAttention({.embed_dim = 32, .num_heads = 8, .groups = 2, .scale = s}).score_scale();
  };
  CHECK(scale(AttentionScale::group_dim) == 0.25);
  CHECK(scale(AttentionScale::head_dim) == 0.5);
  CHECK(scale(AttentionScale::embed_dim) == 1 / std::sqrt(32.0));
}

TEST_CASE("attention layers: the start, and its schedule (C30)") {
  const auto make = [](nn::InitSchedule schedule, nn::ScheduledProjections on) {
    manual_seed(14);
    return GroupedMultiHeadAttention({.embed_dim = 128, .groups = 4, .init = schedule, .init_on = on});
  };
  using nn::InitSchedule;
  using nn::ScheduledProjections;
  const auto plain = make(InitSchedule::constant, ScheduledProjections::q);
  const double bound = std::sqrt(3.0 / 32);
  for (int64_t p = 0; p < 3; ++p)
    for (int64_t g = 0; g < 4; ++g) {
      double top = 0;
      for (double v : select(select(plain.weight, 0, p), 0, g).to_vector<double>()) top = std::max(top, std::abs(v));
      CHECK(top <= bound);
      CHECK(top > 0.98 * bound);
    }
  for (const auto& [on, scheduled] :
       {std::pair{ScheduledProjections::q, 1}, {ScheduledProjections::qk, 2}, {ScheduledProjections::qkv, 3}}) {
    const auto layer = make(InitSchedule::inverse_index, on);
    for (int64_t p = 0; p < 3; ++p)
      for (int64_t g = 0; g < 4; ++g) {
        const double gain = p < scheduled ? 1.0 / static_cast<double>(g + 1) : 1;
        CHECK(layer.weight.tensor().at({p, g, 3, 5}) == Approx(gain * plain.weight.tensor().at({p, g, 3, 5})));
      }
    check_identical(std::get<nn::Linear>(layer.out).weight, std::get<nn::Linear>(plain.out).weight);
  }
  for (double v : plain.bias.tensor().to_vector<double>()) CHECK(v == 0);
}

TEST_CASE("attention layers: one sequence without a batch, masks, windows, dropout") {
  manual_seed(15);
  MultiHeadAttention standard({.embed_dim = 16, .num_heads = 2, .dropout = 0.5});
  GroupedMultiHeadAttention grouped({.embed_dim = 16, .groups = 2, .output = OutputProjection::grouped});
  const Tensor x = random_tensor({1, 6, 16}, DType::float32, 1);
  CHECK(sum(square(standard(x) - standard(x))).item() > 0);  // dropout draws anew
  standard.eval();
  check_identical(standard(x), standard(x));
  check_identical(standard(reshape(x, {6, 16})), reshape(standard(x), {6, 16}));
  check_identical(grouped(reshape(x, {6, 16})), reshape(grouped(x), {6, 16}));
  const Tensor lower = to(tril(ones({6, 6})), DType::boolean);
  check_close(standard(x, AttentionOptions{.mask = lower}).detach(),
              Array(standard(x, AttentionOptions{.causal = true}).detach()), 1e-6);
  check_close(grouped(x, AttentionOptions{.mask = lower}).detach(),
              Array(grouped(x, AttentionOptions{.causal = true}).detach()), 1e-6);
  const Tensor alone = standard(x, AttentionOptions{.window = 1});
  check_close(alone.detach(), Array(standard.out(slice(standard.qkv(x), 2, 32, 48)).detach()),
              1e-6);  // each token sees itself: v
  CHECK(standard(zeros({0, 6, 16})).shape() == Dims{0, 6, 16});
}

TEST_CASE("attention layers: every wrong option names itself and what would fit (C7)") {
  using M = nn::MultiHeadAttentionOptions;
  using G = nn::GroupedMultiHeadAttentionOptions;
  REQUIRE_THROWS_WITH(MultiHeadAttention(M{}), "MultiHeadAttention: embed_dim is 0; it must be at least 1");
  REQUIRE_THROWS_WITH(
      MultiHeadAttention(M{.embed_dim = 10, .num_heads = 4}),
      "MultiHeadAttention: num_heads = 4 does not divide embed_dim = 10; of the numbers nearby, 2 and 5 do");
  REQUIRE_THROWS_WITH(MultiHeadAttention(M{.embed_dim = 10, .num_heads = 0}),
                      "MultiHeadAttention: num_heads is 0; it must be at least 1");
  REQUIRE_THROWS_WITH(MultiHeadAttention(M{.embed_dim = 8, .dropout = 2}),
                      "MultiHeadAttention: dropout is 2; it must be between 0 and 1");
  REQUIRE_THROWS_WITH(GroupedMultiHeadAttention(G{.embed_dim = -8}),
                      "GroupedMultiHeadAttention: embed_dim is -8; it must be at least 1");
  REQUIRE_THROWS_WITH(
      GroupedMultiHeadAttention(G{.embed_dim = 30}),
      "GroupedMultiHeadAttention: groups = 4 does not divide embed_dim = 30; of the numbers nearby, 3 and 5 do");
  REQUIRE_THROWS_WITH(GroupedMultiHeadAttention(G{.embed_dim = 32, .num_heads = 5}),
                      "GroupedMultiHeadAttention: num_heads = 5 does not divide embed_dim = 32; of the numbers nearby "
                      "that fit groups = 4, "
                      "4 and 8 do");
  REQUIRE_THROWS_WITH(GroupedMultiHeadAttention(G{.embed_dim = 24, .num_heads = 6, .groups = 4}),
                      "GroupedMultiHeadAttention: num_heads = 6 is neither a multiple nor a divisor of groups = 4; "
                      "num_heads = 4 (or 0) gives each group one head");
  REQUIRE_THROWS_WITH(GroupedMultiHeadAttention(G{.embed_dim = 32, .groups = 0}),
                      "GroupedMultiHeadAttention: groups is 0; it must be at least 1");
  REQUIRE_THROWS_WITH(GroupedMultiHeadAttention(G{.embed_dim = 32, .dropout = -1}),
                      "GroupedMultiHeadAttention: dropout is -1; it must be between 0 and 1");

  MultiHeadAttention layer({.embed_dim = 8, .num_heads = 2});
  REQUIRE_THROWS_WITH(layer(ones({2, 3, 7})),
                      "MultiHeadAttention: input [2, 3, 7] is neither [batch, tokens, 8] nor [tokens, 8]");
  REQUIRE_THROWS_AS(layer(ones({8})), ShapeError);
  REQUIRE_THROWS_WITH(layer(Tensor()), "MultiHeadAttention: x is undefined");
  REQUIRE_THROWS_WITH(layer(ones({3, 8}), AttentionOptions{.dropout = 0.1}),
                      "MultiHeadAttention: dropout = 0.1 in a call; it is an option of the layer");
  REQUIRE_THROWS_WITH(layer(ones({3, 8}), AttentionOptions{.scale = 2}),
                      "MultiHeadAttention: scale = 2 in a call; it is an option of the layer");
}

TEST_CASE("attention without query heads: keys and values get zero gradients") {
  const Tensor keys = ones({1, 2, 3, 4}).requires_grad_();
  const Tensor none = zeros({1, 0, 5, 4});
  full({1, 2, 3, 4}, 7);  // what the gradient's memory may have held before
  scaled_dot_product_attention(none, keys, keys).backward(none);
  CHECK(keys.grad().to_vector<float>() == std::vector<float>(24));
}
