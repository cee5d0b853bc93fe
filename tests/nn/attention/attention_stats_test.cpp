// The diagnostic of attention layers: its numbers against plain loops, and that it flags a wrong scale and only that.
#include "tutti/nn/attention/attention_stats.h"

#include <cmath>
#include <limits>

#include "support/devices.h"
#include "support/op_test.h"
#include "tutti/autograd/node.h"
#include "tutti/core/error.h"
#include "tutti/core/generator.h"
#include "tutti/ops/arithmetic.h"
#include "tutti/ops/compare.h"
#include "tutti/ops/copy.h"
#include "tutti/ops/create.h"
#include "tutti/ops/index.h"
#include "tutti/ops/linear.h"
#include "tutti/ops/random.h"
#include "tutti/ops/shape.h"

using namespace tutti;
using namespace tutti_test;
using nn::attention_stats;
using nn::AttentionScale;
using nn::AttentionStats;
using nn::GroupedMultiHeadAttention;
using nn::HeadMode;
using Options = nn::GroupedMultiHeadAttentionOptions;

namespace {

GroupedMultiHeadAttention make(const Options& o, uint64_t seed = 1) {
  manual_seed(seed);
  return GroupedMultiHeadAttention(o);
}
/// Independent tokens, normal with variance 1.
Tensor tokens(int64_t batch, int64_t count, int64_t width, uint64_t seed = 2) {
  manual_seed(seed);
  return randn({batch, count, width});
}
/// The diagnostic of a fresh layer, width 64, over 16 x 48 tokens.
AttentionStats fresh(Options o) {
  o.embed_dim = 64;
  return attention_stats(make(o), tokens(16, 48, 64));
}

/// The definitions, for qkv [B, T, 3 C] of H heads under one scale; visible(i, j) and bias(i, j) for every head.
template <class Visible, class Bias>
AttentionStats by_loops(const Array& qkv, int64_t heads, double scale, const Visible& visible, const Bias& bias) {
  const int64_t B = qkv.shape[0], T = qkv.shape[1], C = qkv.shape[2] / 3, D = C / heads;
  AttentionStats s;
  double rows = 0, variance = 0, entropy = 0;
  for (int64_t b = 0; b < B; ++b)
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t i = 0; i < T; ++i) {
        std::vector<double> scores, biased;
        for (int64_t j = 0; j < T; ++j) {
          if (!visible(i, j)) continue;
          double dot = 0;
          for (int64_t c = h * D; c < (h + 1) * D; ++c)
            dot += qkv[(b * T + i) * 3 * C + c] * qkv[(b * T + j) * 3 * C + C + c];
          scores.push_back(dot * scale);
          biased.push_back(dot * scale + bias(i, j));
        }
        const auto n = static_cast<double>(scores.size());
        if (n < 2) continue;
        double mean = 0, square = 0, total = 0, row_entropy = 0;
        for (double v : scores) mean += v / n;
        for (double v : scores) square += (v - mean) * (v - mean) / n;
        for (double v : biased) total += std::exp(v);
        for (double v : biased) row_entropy -= std::exp(v) / total * std::log(std::exp(v) / total);
        rows += 1;
        variance += square;
        entropy += row_entropy / std::log(n);
      }
  s.logit_spread = std::sqrt(variance / rows);
  s.entropy = entropy / rows;
  double expected = 0;
  for (int64_t c = 0; c < C; ++c) {
    double q_square = 0, k_variance = 0;
    for (int64_t b = 0; b < B; ++b) {
      double mean = 0, square = 0;
      for (int64_t t = 0; t < T; ++t) {
        const double q = qkv[(b * T + t) * 3 * C + c], k = qkv[(b * T + t) * 3 * C + C + c];
        q_square += q * q / static_cast<double>(B * T);
        mean += k / static_cast<double>(T);
        square += k * k / static_cast<double>(T);
      }
      k_variance += (square - mean * mean) / static_cast<double>(B);
    }
    expected += q_square * k_variance / static_cast<double>(C);
  }
  s.expected_spread = std::sqrt(expected);
  return s;
}

void check_equal(const AttentionStats& got, const AttentionStats& want) {
  CHECK(got.logit_spread == Approx(want.logit_spread).epsilon(1e-9));
  CHECK(got.expected_spread == Approx(want.expected_spread).epsilon(1e-9));
  CHECK(got.entropy == Approx(want.entropy).epsilon(1e-9));
}

}  // namespace

TEST_CASE("attention stats: the definitions, with masks and layouts") {
  auto layer = make({.embed_dim = 12, .num_heads = 6, .groups = 3});
  layer.to(DType::float64);
  const int64_t T = 70;
  const Tensor x = random_tensor({2, T, 12}, DType::float64, 3, -3, 3);
  const Array qkv(grouped_linear(x, layer.weight, layer.bias));
  const auto none = [](int64_t, int64_t) { return 0.0; };
  const auto loops = [&](const auto& visible, const auto& bias) {
    return by_loops(qkv, 6, layer.score_scale(), visible, bias);
  };
  check_equal(attention_stats(layer, x), loops([](int64_t, int64_t) { return true; }, none));
  check_equal(attention_stats(layer, x, {.causal = true, .window = 9}),
              loops([](int64_t i, int64_t j) { return j <= i && i - j < 9; }, none));
  const Tensor layout = to(eye(7), DType::boolean);
  check_equal(attention_stats(layer, x, {.layout = layout, .block = 10}),
              loops([](int64_t i, int64_t j) { return i / 10 == j / 10; }, none));
  const Tensor keys = arange(0, T, 1, {.dtype = DType::float64});
  const Tensor mask =
      where(lt(keys, 50.0), keys * 0.01, full({}, -std::numeric_limits<double>::infinity(), {DType::float64}));
  check_equal(attention_stats(layer, x, {.mask = mask}),
              loops([](int64_t, int64_t j) { return j < 50; },
                    [](int64_t, int64_t j) { return 0.01 * static_cast<double>(j); }));
  auto sparse =
      make({.embed_dim = 12, .num_heads = 6, .groups = 3, .sparsity = {.pattern = nn::Sparsity::block, .block = 10}});
  sparse.to(DType::float64);
  check_equal(attention_stats(sparse, x), attention_stats(layer, x, {.layout = layout, .block = 10}));
}

TEST_CASE("attention stats: the context's variance by group") {
  auto layer = make({.embed_dim = 12, .num_heads = 6, .groups = 3});
  layer.to(DType::float64);
  const Tensor x = random_tensor({3, 5, 12}, DType::float64, 4);
  const Array context(layer.context(x));
  const AttentionStats s = attention_stats(layer, x);
  REQUIRE(s.context_variance.size() == 3);
  for (int64_t g = 0; g < 3; ++g) {
    double variance = 0;
    for (int64_t c = 4 * g; c < 4 * (g + 1); ++c) {
      double mean = 0, square = 0;
      for (int64_t r = 0; r < 15; ++r) {
        mean += context[r * 12 + c] / 15;
        square += context[r * 12 + c] * context[r * 12 + c] / 15;
      }
      variance += (square - mean * mean) / 4;
    }
    CHECK(s.context_variance[static_cast<size_t>(g)] == Approx(variance).epsilon(1e-9));
  }
  CHECK(s.dead_groups.empty());
  {
    const no_grad off;
    fill_(select(select(layer.weight, 0, 2), 0, 1), 0);  // v of group 1: its result is its bias, whatever it sees
    fill_(layer.bias, 3);
  }
  CHECK(attention_stats(layer, x).dead_groups == std::vector<int64_t>{1});
  CHECK(
      attention_stats(make({.embed_dim = 64, .groups = 16, .init = nn::InitSchedule::inverse_index}), tokens(4, 30, 64))
          .dead_groups.empty());
  CHECK(attention_stats(layer, zeros({2, 5, 12}, {.dtype = DType::float64})).dead_groups ==
        std::vector<int64_t>{0, 1, 2});
}

TEST_CASE("attention stats: the literal single map is sqrt(G) times too hot under 1 / sqrt(group_dim) (A3)") {
  for (int64_t groups : {2, 4, 8}) {
    const Tensor x = tokens(4, 64, 256);
    const AttentionStats aligned = attention_stats(make({.embed_dim = 256, .groups = groups}), x);
    const AttentionStats literal =
        attention_stats(make({.embed_dim = 256, .groups = groups, .head_mode = HeadMode::literal}), x);
    INFO(groups << " groups: " << aligned.logit_spread << " and " << literal.logit_spread);
    CHECK(aligned.logit_spread == Approx(1).epsilon(0.05));
    CHECK(literal.logit_spread / aligned.logit_spread == Approx(std::sqrt(static_cast<double>(groups))).epsilon(0.05));
    CHECK(literal.entropy < aligned.entropy);
  }
}

TEST_CASE("attention stats: a wrong scale is flagged (C31)") {
  const auto flagged = [](const Options& o) {
    const auto warnings = fresh(o).warnings;
    CHECK(warnings.size() <= 1);
    return !warnings.empty();
  };
  using S = AttentionScale;
  for (int64_t groups : {2, 4, 8}) {
    INFO(groups << " groups");
    for (S scale : {S::group_dim, S::head_dim, S::learned}) CHECK_FALSE(flagged({.groups = groups, .scale = scale}));
    CHECK(flagged({.groups = groups, .scale = S::embed_dim}));
    const HeadMode literal = HeadMode::literal;
    CHECK(flagged({.groups = groups, .head_mode = literal, .scale = S::group_dim}));
    for (S scale : {S::head_dim, S::embed_dim, S::learned})
      CHECK_FALSE(flagged({.groups = groups, .head_mode = literal, .scale = scale}));
    CHECK(flagged({.num_heads = 2 * groups, .groups = groups, .scale = S::group_dim}));
    CHECK_FALSE(flagged({.num_heads = 2 * groups, .groups = groups, .scale = S::head_dim}));
  }
  const AttentionStats hot = fresh({.groups = 4, .head_mode = HeadMode::literal});
  CHECK_THAT(hot.warnings.at(0), Contains("logit spread ") && Contains(", expected about ") &&
                                     Contains("; check scale = group_dim: the scores are 2 times those under 1 / "
                                              "sqrt(head width)"));
}

TEST_CASE("attention stats: only a wrong scale is flagged (C31)") {
  const Tensor x = tokens(16, 48, 64), common = tokens(1, 1, 64, 9);
  for (auto exchange : {nn::GroupExchange::none, nn::GroupExchange::talking_heads, nn::GroupExchange::inter_group,
                        nn::GroupExchange::cascade})
    for (auto norm : {nn::ProjectionNorm::none, nn::ProjectionNorm::per_group}) {
      const auto layer = make({.embed_dim = 64, .norm = norm, .exchange = exchange});
      CHECK(attention_stats(layer, x).warnings.empty());
      CHECK(attention_stats(layer, x * 5.0).warnings.empty());           // large tokens
      CHECK(attention_stats(layer, x * 0.1).warnings.empty());           // small ones
      CHECK(attention_stats(layer, x + common * 3.0).warnings.empty());  // alike
    }
  CHECK(attention_stats(make({.embed_dim = 64, .init = nn::InitSchedule::inverse_index}), x).warnings.empty());
  CHECK(
      attention_stats(make({.embed_dim = 64, .num_heads = 8, .num_kv_heads = 4, .scale = AttentionScale::head_dim}), x)
          .warnings.empty());
  auto trained = make({.embed_dim = 64});
  {
    const no_grad off;
    copy_(select(trained.weight, 0, 1), select(trained.weight, 0, 0));  // q = k: every token looks for its like
    copy_(trained.weight, mul(trained.weight, 3.0));
  }
  const AttentionStats sharp = attention_stats(trained, x);
  CHECK(sharp.logit_spread > AttentionStats::spread_tolerance * sharp.expected_spread);
  CHECK(sharp.entropy < 0.2);
  CHECK(sharp.warnings.empty());
}

TEST_CASE("attention stats: the extremes of entropy, and shapes without anything to measure") {
  auto layer = make({.embed_dim = 8, .groups = 2});
  const Tensor x = tokens(2, 12, 8);
  {
    const no_grad off;
    fill_(select(layer.weight, 0, 0), 0);
  }
  const AttentionStats even = attention_stats(layer, x);
  CHECK(even.entropy == Approx(1));
  CHECK(even.logit_spread == 0);
  CHECK(even.warnings.empty());
  for (const Dims& shape : {Dims{2, 1, 8}, Dims{2, 0, 8}, Dims{0, 3, 8}}) {
    const AttentionStats nothing = attention_stats(layer, zeros(shape));
    CHECK(nothing.logit_spread == 0);
    CHECK(nothing.entropy == 0);
    CHECK(nothing.warnings.empty());
  }
  check_equal(attention_stats(layer, select(x, 0, 0)), attention_stats(layer, slice(x, 0, 0, 1)));
  REQUIRE_THROWS_WITH(attention_stats(layer, zeros({2, 3, 7})),
                      "GroupedMultiHeadAttention: input [2, 3, 7] is neither [batch, tokens, 8] nor [tokens, 8]");
}

TEST_CASE("attention stats: the standard layer, which is the grouped one with one group") {
  manual_seed(5);
  const nn::MultiHeadAttention standard({.embed_dim = 32, .num_heads = 4});
  const auto grouped = make({.embed_dim = 32, .num_heads = 4, .groups = 1, .scale = AttentionScale::head_dim}, 5);
  const Tensor x = tokens(3, 20, 32);
  const AttentionStats s = attention_stats(standard, x, {.causal = true});
  check_equal(s, attention_stats(grouped, x, {.causal = true}));
  CHECK(s.context_variance.size() == 4);
  CHECK(s.warnings.empty());
  REQUIRE_THROWS_AS(attention_stats(standard, zeros({2, 3, 7})), ShapeError);
}

TEST_CASE("attention stats: the layer is left as it was") {
  const auto layer =
      make({.embed_dim = 16, .dropout = 0.5, .group_dropout = {.rates = {0.5}}, .dynamic = {.candidates = {1, 4}}});
  REQUIRE(layer.training());
  const Tensor x = tokens(2, 6, 16);
  const uint64_t position = default_generator().position();
  const AttentionStats a = attention_stats(layer, x), b = attention_stats(layer, x);
  check_equal(a, b);
  CHECK(default_generator().position() == position);
  CHECK(layer.training());
  REQUIRE_THROWS_AS(layer.dynamic->flops_share(), ValueError);  // no forward of its own yet
}

TEST_CASE("attention stats: a mask for each query, as the formula of the same mask, across parts of the queries") {
  auto layer = make({.embed_dim = 12, .num_heads = 6, .groups = 3});
  layer.to(DType::float64);
  const int64_t T = 150;  // three parts, the last one short
  const Tensor x = random_tensor({2, T, 12}, DType::float64, 3, -3, 3);
  const Tensor lower = to(tril(ones({T, T})), DType::boolean);
  const AttentionStats causal = attention_stats(layer, x, {.causal = true});
  check_equal(attention_stats(layer, x, {.mask = lower}), causal);
  check_equal(attention_stats(layer, x, {.mask = reshape(lower, {1, 1, T, T})}), causal);
  const Tensor zero = zeros({}, {DType::float64});
  const Tensor added = where(lower, zero, full({}, -std::numeric_limits<double>::infinity(), {DType::float64}));
  check_equal(attention_stats(layer, x, {.mask = added}), causal);
  const Array qkv(grouped_linear(x, layer.weight, layer.bias));
  const Tensor layout = to(tril(ones({4, 4})), DType::boolean);  // blocks of 40: 64 queries meet two or three of them
  check_equal(attention_stats(layer, x, {.layout = layout, .block = 40}),
              by_loops(
                  qkv, 6, layer.score_scale(), [](int64_t i, int64_t j) { return j / 40 <= i / 40; },
                  [](int64_t, int64_t) { return 0.0; }));
}

TEST_CASE("attention stats: the most negative numbers of a mask are not hidden keys") {
  const auto layer = make({.embed_dim = 8, .groups = 2});
  const Tensor x = tokens(2, 3, 8);
  // Whatever the scores are, nothing is left of them beside such numbers: every row is even.
  const AttentionStats s = attention_stats(layer, x, {.mask = full({3, 3}, -3.4028234e38), .causal = true});
  CHECK(s.entropy == Approx(1));
  CHECK(s.logit_spread == Approx(attention_stats(layer, x, {.causal = true}).logit_spread));
}

TEST_CASE("attention stats: memory grows linearly with the number of tokens, whatever is hidden") {
  const auto layer = make({.embed_dim = 8, .groups = 2});
  const auto used = [&](int64_t T, const AttentionOptions& options) {
    const Tensor x = tokens(1, T, 8);
    memory::reset_peak();
    const size_t start = memory::stats().current;
    attention_stats(layer, x, options);
    return memory::stats().peak - start;
  };
  for (int64_t block : {0, 64, 4096})
    for (bool causal : {true, false}) {
      if (block == 0 && !causal) continue;
      const auto options = [&](int64_t T) {
        AttentionOptions o{.causal = causal};
        if (block > 0) {
          const int64_t n = (T + block - 1) / block;
          o.layout = to(ones({n, n}), DType::boolean);
          o.block = block;
        }
        return o;
      };
      const int64_t T = sized(2048, 1024);
      const size_t half = used(T / 2, options(T / 2)), whole = used(T, options(T));
      INFO("block " << block << ": " << half << " and " << whole << " bytes");
      CHECK(whole <= 2.6 * static_cast<double>(half));
      CHECK(whole < static_cast<size_t>(T * T) * 4);  // bytes: not even one float32 for each pair
    }
}
