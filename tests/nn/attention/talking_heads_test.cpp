// Talking heads: the formula, the identity, what masks hide, gradients, errors.
#include "tutti/nn/attention/talking_heads.h"

#include <cmath>
#include <limits>

#include "support/attention_gradient.h"
#include "support/module_gradcheck.h"
#include "support/op_test.h"
#include "tutti/autograd/node.h"
#include "tutti/core/error.h"
#include "tutti/nn/init.h"
#include "tutti/ops/arithmetic.h"
#include "tutti/ops/compare.h"
#include "tutti/ops/copy.h"
#include "tutti/ops/create.h"
#include "tutti/ops/index.h"
#include "tutti/ops/reduce.h"
#include "tutti/ops/shape.h"
#include "tutti/ops/unary.h"

using namespace tutti;
using namespace tutti_test;
using nn::TalkingHeads;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

Tensor values(const Dims& shape, uint64_t seed) { return random_tensor(shape, DType::float64, seed); }

/// A layer in float64 whose heads do talk.
TalkingHeads mixing(int64_t heads, uint64_t seed = 7) {
  TalkingHeads layer(heads);
  layer.to(DType::float64);
  const no_grad off;
  copy_(layer.before, eye(heads, {DType::float64}) + 0.5 * values({heads, heads}, seed));
  copy_(layer.after, eye(heads, {DType::float64}) + 0.5 * values({heads, heads}, seed + 1));
  return layer;
}

/// The formula in plain loops; seen(h, i, j) and bias(h, i, j) stand for the mask.
template <class Seen, class Bias>
Array by_hand(const TalkingHeads& layer, const Tensor& q, const Tensor& k, const Tensor& v, double scale, Seen seen,
              Bias bias) {
  const int64_t B = q.size(0), H = q.size(1), n = q.size(2), m = k.size(2), D = q.size(3), E = v.size(3);
  const int64_t share = H / k.size(1);
  const Array Q(q), K(k), V(v), J(layer.before.tensor().detach()), W(layer.after.tensor().detach());
  Array out({B, H, n, E});
  for (int64_t b = 0; b < B; ++b)
    for (int64_t i = 0; i < n; ++i) {
      Array scores({H, m}), weights({H, m});
      for (int64_t h = 0; h < H; ++h)
        for (int64_t j = 0; j < m; ++j)
          for (int64_t d = 0; d < D; ++d)
            scores[h * m + j] +=
                scale * Q[((b * H + h) * n + i) * D + d] * K[((b * (H / share) + h / share) * m + j) * D + d];
      for (int64_t h = 0; h < H; ++h) {
        double total = 0;
        for (int64_t j = 0; j < m; ++j) {
          double mixed = bias(h, i, j);
          for (int64_t o = 0; o < H; ++o) mixed += J[h * H + o] * scores[o * m + j];
          weights[h * m + j] = seen(h, i, j) ? std::exp(mixed) : 0;
          total += weights[h * m + j];
        }
        for (int64_t j = 0; j < m && total > 0; ++j) weights[h * m + j] /= total;
      }
      for (int64_t h = 0; h < H; ++h)
        for (int64_t j = 0; j < m; ++j) {
          double mixed = 0;
          for (int64_t o = 0; o < H; ++o) mixed += W[h * H + o] * weights[o * m + j];
          if (!seen(h, i, j)) mixed = 0;
          for (int64_t e = 0; e < E; ++e)
            out[((b * H + h) * n + i) * E + e] += mixed * V[((b * (H / share) + h / share) * m + j) * E + e];
        }
    }
  return out;
}

const auto everything = [](int64_t, int64_t, int64_t) { return true; };
const auto nothing = [](int64_t, int64_t, int64_t) { return 0.0; };

}  // namespace

TEST_CASE("talking heads: identity matrices are plain attention, forward and backward") {
  for (DType dtype : {DType::float32, DType::float64})
    for (int64_t kv_heads : {4, 2, 1})
      for (const AttentionOptions& options :
           {AttentionOptions{}, AttentionOptions{.causal = true}, AttentionOptions{.window = 2},
            AttentionOptions{.window = int64_t{1} << 62}, AttentionOptions{.causal = true, .window = 3},
            AttentionOptions{.scale = 0.7}, AttentionOptions{.mask = to(tril(ones({6, 6}), 1), DType::boolean)}}) {
        TalkingHeads layer(4);
        layer.to(dtype);
        const double tolerance = dtype == DType::float64 ? 1e-12 : 1e-5;
        Tensor a[3], b[3];
        for (uint64_t i = 0; i < 3; ++i) {
          const Dims shape{2, i == 0 ? 4 : kv_heads, 6, 5};
          a[i] = random_tensor(shape, dtype, i).requires_grad_();
          b[i] = random_tensor(shape, dtype, i).requires_grad_();
        }
        const Tensor mine = layer(a[0], a[1], a[2], options);
        const Tensor plain = scaled_dot_product_attention(b[0], b[1], b[2], options);
        check_close(mine.detach(), Array(plain.detach()), tolerance);
        const Tensor dy = random_tensor(plain.shape(), dtype, 9);
        mine.backward(dy);
        plain.backward(dy);
        for (int i = 0; i < 3; ++i) check_close(a[i].grad(), Array(b[i].grad()), tolerance);
      }
}

TEST_CASE("talking heads: the formula, with masks of every kind") {
  const TalkingHeads layer = mixing(4);
  const Tensor q = values({2, 4, 5, 3}, 1), k = values({2, 2, 6, 3}, 2), v = values({2, 2, 6, 7}, 3);
  check_close(layer(q, k, v).detach(), by_hand(layer, q, k, v, 1 / std::sqrt(3.0), everything, nothing), 1e-12);
  check_close(layer(q, k, v, {.causal = true, .scale = 2}).detach(),
              by_hand(
                  layer, q, k, v, 2, [](int64_t, int64_t i, int64_t j) { return j <= i + 1; }, nothing),
              1e-12);
  check_close(layer(q, k, v, {.window = 2, .scale = 2}).detach(),
              by_hand(
                  layer, q, k, v, 2, [](int64_t, int64_t i, int64_t j) { return std::abs(i + 1 - j) < 2; }, nothing),
              1e-12);
  const auto uneven = [](int64_t h, int64_t i, int64_t j) { return (h + 2 * i + j) % 3 != 0; };
  Array seen({4, 5, 6}), added({4, 5, 6});
  for (int64_t n = 0; n < 120; ++n) {
    seen[n] = uneven(n / 30, n / 6 % 5, n % 6);
    added[n] = seen[n] != 0 ? 0.1 * static_cast<double>(n % 7) : -infinity;
  }
  check_close(layer(q, k, v, {.mask = to(Tensor::from(seen.v, seen.shape), DType::boolean)}).detach(),
              by_hand(layer, q, k, v, 1 / std::sqrt(3.0), uneven, nothing), 1e-12);
  check_close(layer(q, k, v, {.mask = Tensor::from(added.v, added.shape)}).detach(),
              by_hand(layer, q, k, v, 1 / std::sqrt(3.0), uneven,
                      [&](int64_t h, int64_t i, int64_t j) {
                        return seen[h * 30 + i * 6 + j] != 0 ? added[h * 30 + i * 6 + j] : 0;
                      }),
              1e-12);
}

TEST_CASE("talking heads: a row without any key gives 0 and gradients 0") {
  TalkingHeads layer = mixing(2);
  const Tensor mask = to(Tensor::from({1, 1, 0, 0}, {2, 2}), DType::boolean);  // query 1 sees nothing
  for (DType dtype : {DType::float64, DType::float32, DType::float16, DType::bfloat16}) {
    layer.to(dtype);
    layer.zero_grad();
    const Tensor q = random_tensor({1, 2, 2, 3}, dtype, 1).requires_grad_();
    const Tensor y = layer(q, q.detach(), q.detach(), {.mask = mask});
    CHECK(sum(abs(select(y, 2, 1))).item() == 0);
    CHECK(sum(abs(select(y, 2, 0))).item() > 0);
    select(y, 2, 1).backward(ones({1, 2, 3}, {dtype}));
    for (double g : q.grad().to_vector<double>()) CHECK(g == 0);
    for (const Tensor& p : layer.parameters())
      for (double g : p.grad().to_vector<double>()) CHECK(g == 0);
  }
}

TEST_CASE("talking heads: the most negative numbers of a mask are not hidden keys: with causal, as plain attention") {
  for (const auto& [dtype, lowest] : {std::pair{DType::float32, -3.4028234e38},
                                      {DType::float64, -1.7976931348623157e308},
                                      {DType::bfloat16, -3.38e38}})
    for (int64_t heads : {1, 2}) {
      INFO(tutti::name_of(dtype));
      TalkingHeads layer(heads);
      layer.to(dtype);
      const AttentionOptions options{.mask = full({3, 3}, lowest, {dtype}), .causal = true};
      Tensors x;
      for (uint64_t i = 0; i < 3; ++i) x.push_back(random_tensor({2, heads, 3, 4}, dtype, i).requires_grad_());
      const Tensor y = layer(x[0], x[1], x[2], options);
      const double tolerance = size_of(dtype) == 2 ? 0.02 : 1e-6;
      check_close(y.detach(), Array(scaled_dot_product_attention(x[0], x[1], x[2], options).detach()), tolerance);
      const Tensor dy = random_tensor(y.shape(), dtype, 9);
      y.backward(dy);
      const Tensors want = gradient_by_weights(x, dy, options);
      for (size_t i = 0; i < 3; ++i) check_close(x[i].grad(), Array(want[i]), tolerance);
    }
  // float16's are near enough to scores to overflow with them, and to round them: numbers all the same.
  TalkingHeads half(1);
  half.to(DType::float16);
  const Tensor x = random_tensor({1, 1, 3, 4}, DType::float16, 1, 20, 30);
  for (double sign : {-1.0, 1.0}) {
    const AttentionOptions options{.mask = full({3, 3}, -65504, {DType::float16}), .causal = true};
    const Tensor y = half(x, x * sign, x, options).detach();
    check_identical(select(y, 2, 0), select(x, 2, 0));  // its only key
    CHECK(std::isfinite(sum(to(y, DType::float32)).item()));
  }
}

TEST_CASE("talking heads: what is hidden reaches nothing, NaN and infinity too, forward and backward") {
  TalkingHeads layer = mixing(4);
  constexpr int64_t T = 5;
  // Of q, k, v (two k/v heads), given what stands in the hidden places: the result and all gradients.
  const auto run = [&](const AttentionOptions& options, double bad, auto spoil) {
    Tensor q = values({2, 4, T, 3}, 1), k = values({2, 2, T, 3}, 2), v = values({2, 2, T, 3}, 3);
    spoil(k, bad);
    spoil(v, bad);
    for (Tensor* x : {&q, &k, &v}) x->requires_grad_();
    layer.zero_grad();
    const Tensor y = layer(q, k, v, options);
    y.backward(values(y.shape(), 4));
    Tensors all{y.detach(), q.grad(), k.grad(), v.grad()};
    for (const Tensor& p : layer.parameters()) all.push_back(clone(p.grad()));
    return all;
  };
  const auto check = [&](const AttentionOptions& options, auto spoil) {
    const Tensors clean = run(options, 0.25, spoil);
    for (double bad : {std::nan(""), infinity}) {
      const Tensors dirty = run(options, bad, spoil);
      for (size_t i = 0; i < clean.size(); ++i) check_close(dirty[i], Array(clean[i]), 1e-12);
    }
  };
  // A key mask: tokens 1 and 4 of the first sample.
  const auto padding = [](const Tensor& x, double bad) {
    for (int64_t t : {1, 4}) fill_(select(select(x, 0, 0), 1, t), bad);
  };
  const Tensor keys = to(Tensor::from({1, 0, 1, 1, 0, 1, 1, 1, 1, 1}, {2, 1, 1, 5}), DType::boolean);
  check({.mask = keys}, padding);
  check({.mask = where(keys, zeros({}, {DType::float64}), full({}, -infinity, {DType::float64}))}, padding);
  // Hidden from some queries only, a later token or one beyond the window: their results and gradients are clean.
  const auto last = [](const Tensor& x, double bad) { fill_(select(x, 2, 4), bad); };
  for (const auto& [options, rows] :
       {std::pair{AttentionOptions{.causal = true}, 4}, {AttentionOptions{.window = 2}, 3}}) {
    const Tensors clean = run(options, 0.25, last), dirty = run(options, std::nan(""), last);
    for (size_t i : {size_t{0}, size_t{1}})
      check_close(slice(dirty[i], 2, 0, rows), Array(slice(clean[i], 2, 0, rows)), 1e-12);
    CHECK(std::isnan(dirty[0].at({0, 0, 4, 0})));  // and whoever sees it is not told a number
  }
  // From the two heads of one k/v head only: what is not finite there counts as 0 in the others' scores.
  Array by_head({4, 1, 5}, 1);
  by_head[2 * 5 + 3] = by_head[3 * 5 + 3] = 0;
  const Tensor two_heads = to(Tensor::from(by_head.v, by_head.shape), DType::boolean);
  const auto one_key = [](const Tensor& x, double bad) { fill_(select(select(x, 1, 1), 1, 3), bad); };
  const Tensors clean = run({.mask = two_heads}, 0, one_key), dirty = run({.mask = two_heads}, std::nan(""), one_key);
  for (const Tensors* found : {&clean, &dirty}) one_key((*found)[2], 0);  // its own gradient ends there
  for (size_t i = 0; i < clean.size(); ++i) check_close(dirty[i], Array(clean[i]), 1e-12);
}

TEST_CASE("talking heads: gradients of q, k, v and both matrices, first and second") {
  const std::vector<Tensor> inputs{values({2, 4, 3, 2}, 1).requires_grad_(), values({2, 2, 4, 2}, 2).requires_grad_(),
                                   values({2, 2, 4, 3}, 3).requires_grad_()};
  TalkingHeads layer = mixing(4);
  for (const AttentionOptions& options :
       {AttentionOptions{}, AttentionOptions{.causal = true}, AttentionOptions{.mask = values({4, 3, 4}, 5)}})
    CHECK(gradcheck_module(
        layer, [&](const std::vector<Tensor>& x) { return layer(x[0], x[1], x[2], options); }, inputs, true));
}

TEST_CASE("talking heads: a head hears the others only if the matrices let it") {
  const auto reaches = [](const TalkingHeads& layer) {
    const Tensor q = values({1, 3, 4, 2}, 1).requires_grad_();
    const Tensor kv = values({1, 3, 4, 2}, 2);
    sum(square(select(layer(q, kv, kv), 1, 0))).backward();
    return sum(abs(slice(q.grad(), 1, 1, 3))).item() > 0;
  };
  TalkingHeads plain(3);
  plain.to(DType::float64);
  CHECK_FALSE(reaches(plain));
  CHECK(reaches(mixing(3)));
}

TEST_CASE("talking heads: dropout acts on the mixed weights") {
  const TalkingHeads layer = mixing(2);
  const Tensor q = values({1, 2, 5, 3}, 1), one = ones({1, 2, 5, 1}, {DType::float64});
  CHECK(sum(abs(layer(q, q, one, {.dropout = 1}))).item() == 0);
  manual_seed(1);
  const Tensor first = layer(q, q, one, {.dropout = 0.5});
  CHECK(sum(abs(first - layer(q, q, one, {.dropout = 0.5}))).item() > 0);
  manual_seed(1);
  check_identical(first.detach(), layer(q, q, one, {.dropout = 0.5}).detach());
}

TEST_CASE("talking heads: errors say what does not fit") {
  REQUIRE_THROWS_WITH(TalkingHeads(0), "TalkingHeads: num_heads is 0; it must be at least 1");
  CHECK(TalkingHeads(4).parameter_count() == 32);
  const TalkingHeads layer(4);
  const Tensor q = ones({1, 4, 3, 2});
  REQUIRE_THROWS_WITH(
      layer(ones({1, 2, 3, 2}), q, q),
      "TalkingHeads: q [1, 2, 3, 2], k [1, 4, 3, 2] and v [1, 4, 3, 2] are not [batch, heads, tokens, width] with 4 "
      "query heads, a divisor of them as key/value heads, and matching tokens and widths");
  REQUIRE_THROWS_AS(layer(q, ones({1, 3, 3, 2}), ones({1, 3, 3, 2})), ShapeError);
  REQUIRE_THROWS_AS(layer(q, q, ones({1, 4, 2, 2})), ShapeError);
  REQUIRE_THROWS_AS(layer(q, ones({1, 4, 3, 3}), q), ShapeError);
  REQUIRE_THROWS_WITH(layer(q, q, ones({1, 4, 3, 2}, {DType::float64})), Contains("float64"));
  REQUIRE_THROWS_WITH(layer(q, q, Tensor()), "TalkingHeads: v is undefined");
  REQUIRE_THROWS_WITH(layer(q, q, q, {.mask = to(ones({3, 2}), DType::boolean)}),
                      "TalkingHeads: mask of shape [3, 2] does not broadcast to the scores' [1, 4, 3, 3]");
  REQUIRE_THROWS_WITH(layer(q, q, q, {.mask = ones({3, 3}, {DType::float64})}),
                      "TalkingHeads: mask must be bool or float32, not float64");
  REQUIRE_THROWS_WITH(layer(q, q, q, {.window = -1}), "TalkingHeads: window -1 is negative");
  REQUIRE_THROWS_WITH(layer(q, q, q, {.dropout = 2}), "TalkingHeads: dropout is 2; it must be between 0 and 1");
  REQUIRE_THROWS_WITH(layer(q, q, q, {.layout = to(ones({1, 1}), DType::boolean), .block = 64}),
                      "TalkingHeads: a layout of blocks would save nothing, since all scores are computed; a mask or "
                      "window fits");
  REQUIRE_THROWS_WITH(layer(q, q, q, {.scale = infinity}), "TalkingHeads: scale inf is not finite");
}
