// Rotary positions and grouped-query heads of the standard layer, against plain loops.
#include "tutti/nn/attention/rotary.h"

#include <cmath>

#include "support/module_gradcheck.h"
#include "support/op_test.h"
#include "tutti/autograd/node.h"
#include "tutti/core/error.h"
#include "tutti/nn/attention/attention_stats.h"
#include "tutti/nn/attention/multi_head_attention.h"
#include "tutti/ops/arithmetic.h"
#include "tutti/ops/copy.h"
#include "tutti/ops/extrema.h"
#include "tutti/ops/join.h"
#include "tutti/ops/reduce.h"
#include "tutti/ops/shape.h"
#include "tutti/ops/unary.h"

using namespace tutti;
using namespace tutti_test;
using nn::MultiHeadAttention;

namespace {

/// The formula, element by element: x [T, H d].
Array turned(const Tensor& x, int64_t heads, int64_t first, const nn::RotaryOptions& o) {
  Array y(x);
  const int64_t tokens = x.size(0), head = x.size(1) / heads, width = o.width ? o.width : head;
  const std::vector<double> from = y.v;
  for (int64_t t = 0; t < tokens; ++t)
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t i = 0; i < width / 2; ++i) {
        const double angle = static_cast<double>(first + t) *
                             std::pow(o.theta, -2 * static_cast<double>(i) / static_cast<double>(width));
        const int64_t at = (t * heads + h) * head;
        const auto a = static_cast<size_t>(at + (o.interleaved ? 2 * i : i));
        const auto b = static_cast<size_t>(at + (o.interleaved ? 2 * i + 1 : i + width / 2));
        y.v[a] = from[a] * std::cos(angle) - from[b] * std::sin(angle);
        y.v[b] = from[b] * std::cos(angle) + from[a] * std::sin(angle);
      }
  return y;
}

}  // namespace

TEST_CASE("rotary: the formula, in both pairings, on part of a head, from any position") {
  for (const nn::RotaryOptions& o :
       {nn::RotaryOptions{}, nn::RotaryOptions{.interleaved = true}, nn::RotaryOptions{.theta = 500, .width = 4},
        nn::RotaryOptions{.width = 2, .interleaved = true}})
    for (const int64_t first : {0, 1000}) {
      Tensor x = random_tensor({3, 12}, DType::float64, 1);
      check_close(nn::rotate(x, 2, first, o).detach(), turned(x, 2, first, o), 1e-12);
      const Tensor batch = reshape(x, {1, 3, 12});
      check_identical(reshape(nn::rotate(batch, 2, first, o), {3, 12}), nn::rotate(x, 2, first, o));
      x.requires_grad_();
      CHECK(gradcheck([&](const std::vector<Tensor>& in) { return nn::rotate(in[0], 2, first, o); }, {x}));
    }
  // Angles of far tokens keep float32's accuracy.
  const Tensor far = random_tensor({2, 8}, DType::float32, 2);
  check_close(nn::rotate(far, 1, 1'000'000, {}), turned(far, 1, 1'000'000, {}), 1e-6);
}

TEST_CASE("rotary: scores depend on distance alone") {
  MultiHeadAttention layer({.embed_dim = 8, .num_heads = 2, .rotary = nn::RotaryOptions{}});
  const Tensor x = random_tensor({1, 5, 8}, DType::float32, 1);
  const auto near = layer.project(x), far = layer.project(x, 100);
  const auto score = [](const nn::QueryKeyValue& h) {
    return sum(nn::split_heads(h.q, 2) * nn::split_heads(h.k, 2), -1).detach();
  };
  check_close(score(near), Array(score(far)), 1e-5);
  CHECK(max(abs(near.q - far.q)).item() > 0.1);
  check_identical(near.v.detach(), far.v.detach());
}

TEST_CASE("MultiHeadAttention: fewer heads of k and v are what repeated ones give") {
  MultiHeadAttention few({.embed_dim = 12, .num_heads = 6, .num_kv_heads = 2}), all({.embed_dim = 12, .num_heads = 6});
  CHECK(few.qkv.weight.shape() == Dims{12 + 4 + 4, 12});
  CHECK(few.parameter_count() == 20 * 12 + 20 + 12 * 12 + 12);
  // k and v's rows of head h / 3 for head h.
  const auto repeated = [](const Tensor& part, const Dims& tail) {
    Dims in{2, 1, 2}, out{2, 3, 2}, flat{12};
    for (int64_t n : tail) in.push(n), out.push(n), flat.push(n);
    return reshape(expand(reshape(part, in), out), flat);
  };
  for (const char* name : {"weight", "bias"}) {
    const Tensor from = few.state_dict().at(std::string("qkv.") + name);
    const Dims tail = from.rank() == 2 ? Dims{12} : Dims{};
    const auto parts = split(from, {12, 4, 4}, 0);
    const no_grad off;
    copy_(all.state_dict().at(std::string("qkv.") + name),
          cat({parts[0], repeated(parts[1], tail), repeated(parts[2], tail)}, 0));
  }
  all.out = few.out;
  const Tensor x = random_tensor({2, 7, 12}, DType::float32, 3);
  for (const bool causal : {false, true})
    check_close(few(x, {.causal = causal}).detach(), Array(all(x, {.causal = causal}).detach()), 1e-6);
  CHECK(few(select(x, 0, 0)).shape() == Dims{7, 12});
  check_close(few(select(x, 0, 0)).detach(), Array(select(few(x), 0, 0).detach()), 1e-6);
  CHECK(attention_stats(few, x).entropy == Approx(attention_stats(all, x).entropy));
  CHECK(few.options().num_kv_heads == 2);
  CHECK(all.options().num_kv_heads == 6);

  // Each part is Xavier-uniform on its own.
  const auto parts =
      split(MultiHeadAttention({.embed_dim = 64, .num_heads = 4, .num_kv_heads = 1}).qkv.weight.tensor().detach(),
            {64, 16, 16}, 0);
  for (const Tensor& part : parts) {
    const double bound = std::sqrt(6.0 / static_cast<double>(64 + part.size(0)));
    CHECK(max(abs(part)).item() <= bound);
    CHECK(max(abs(part)).item() > 0.95 * bound);
  }
}

TEST_CASE("MultiHeadAttention: gradients with fewer heads of k and v, rotary positions and no biases") {
  MultiHeadAttention layer(
      {.embed_dim = 8, .num_heads = 4, .bias = false, .num_kv_heads = 2, .rotary = nn::RotaryOptions{}});
  layer.to(DType::float64);
  CHECK(gradcheck_module(layer, [&](const std::vector<Tensor>& in) { return layer(in[0], {.causal = true}); },
                         {random_tensor({2, 3, 8}, DType::float64, 1)}));
}

TEST_CASE("MultiHeadAttention: wrong heads of k and v, wrong rotary widths") {
  using M = nn::MultiHeadAttentionOptions;
  REQUIRE_THROWS_WITH(MultiHeadAttention(M{.embed_dim = 12, .num_heads = 6, .num_kv_heads = 4}),
                      "MultiHeadAttention: num_kv_heads = 4 does not divide num_heads = 6; of the numbers nearby, 3 "
                      "and 6 do");
  REQUIRE_THROWS_WITH(MultiHeadAttention(M{.embed_dim = 12, .num_heads = 6, .num_kv_heads = -1}),
                      "MultiHeadAttention: num_kv_heads is -1; it must be at least 1");
  REQUIRE_THROWS_WITH(MultiHeadAttention(M{.embed_dim = 12, .num_heads = 4, .rotary = nn::RotaryOptions{}}),
                      "MultiHeadAttention: rotary.width is 0; heads of width 3 can turn an even number of channels, at "
                      "most all of them (0)");
  REQUIRE_THROWS_AS(MultiHeadAttention(M{.embed_dim = 8, .num_heads = 2, .rotary = {{.width = 6}}}), ValueError);
  REQUIRE_THROWS_AS(MultiHeadAttention(M{.embed_dim = 8, .num_heads = 2, .rotary = {{.width = 3}}}), ValueError);
  REQUIRE_THROWS_WITH(MultiHeadAttention(M{.embed_dim = 8, .num_heads = 2, .rotary = {{.theta = 0}}}),
                      "MultiHeadAttention: rotary.theta is 0; it must be finite and positive");
}
