// The patterns of sparse attention: which blocks, and the same attention as the mask of the formula.
#include "tutti/nn/attention/sparsity.h"

#include <cmath>
#include <functional>
#include <limits>
#include <set>

#include "support/op_test.h"
#include "tutti/autograd/node.h"
#include "tutti/core/error.h"
#include "tutti/core/generator.h"
#include "tutti/core/warning.h"
#include "tutti/nn/attention/grouped_attention.h"
#include "tutti/ops/arithmetic.h"
#include "tutti/ops/attention.h"
#include "tutti/ops/create.h"
#include "tutti/ops/reduce.h"
#include "tutti/ops/shape.h"
#include "tutti/ops/unary.h"

using namespace tutti;
using namespace tutti_test;
using nn::Sparsity;
using nn::sparsity_layout;
using nn::SparsityOptions;

namespace {

const std::vector<SparsityOptions> patterns{
    {.pattern = Sparsity::block, .block = 16},
    {.pattern = Sparsity::strided, .block = 16, .window = 0, .stride = 3},
    {.pattern = Sparsity::strided, .block = 10, .window = 2, .stride = 5},
    {.pattern = Sparsity::global_window, .block = 16, .window = 1, .global = 2},
    {.pattern = Sparsity::big_bird, .block = 16, .window = 1, .global = 1, .random = 2, .seed = 7},
};

Tensor attend(const Tensor& qkv, const AttentionOptions& options) { return packed_attention(qkv, options); }
AttentionOptions with(const SparsityOptions& o, int64_t tokens, const AttentionOptions& call = {}) {
  return nn::with_sparsity("layer", o, tokens, default_device(), call);
}

/// '.' and 'x', a row in a word.
std::string drawn(const Tensor& layout) {
  const auto v = layout.to_vector<double>();
  std::string text;
  for (size_t i = 0; i < v.size(); ++i) {
    if (i > 0 && i % static_cast<size_t>(layout.size(1)) == 0) text += ' ';
    text += v[i] != 0 ? 'x' : '.';
  }
  return text;
}

}  // namespace

TEST_CASE("sparsity: the patterns' blocks") {
  const auto layout = [](const SparsityOptions& o) { return drawn(sparsity_layout(o, 60)); };
  CHECK(layout({.pattern = Sparsity::block, .block = 10}) == "x..... .x.... ..x... ...x.. ....x. .....x");
  CHECK(layout({.pattern = Sparsity::strided, .block = 10, .window = 0, .stride = 3}) ==
        "x..x.. .x..x. ..x..x x..x.. .x..x. ..x..x");
  CHECK(layout({.pattern = Sparsity::strided, .block = 10, .window = 1, .stride = 4}) ==
        "xx..x. xxx..x .xxx.. ..xxx. x..xxx .x..xx");
  CHECK(layout({.pattern = Sparsity::global_window, .block = 10, .window = 1, .global = 1}) ==
        "xxxxxx xxx... xxxx.. x.xxx. x..xxx x...xx");
  CHECK(layout({.pattern = Sparsity::global_window, .block = 10, .window = 0, .global = 0}) ==
        "x..... .x.... ..x... ...x.. ....x. .....x");
  CHECK(layout({.pattern = Sparsity::global_window, .block = 10, .global = 0}) ==
        "xx.... xxx... .xxx.. ..xxx. ...xxx ....xx");  // one on each side, if nothing is said
  CHECK(drawn(sparsity_layout({.pattern = Sparsity::block, .block = 64}, 65)) == "x. .x");
  CHECK_FALSE(sparsity_layout({}, 60).defined());
  CHECK_FALSE(sparsity_layout({.pattern = Sparsity::sliding_window, .window = 9}, 60).defined());
  CHECK(sparsity_layout({.pattern = Sparsity::block}, 0).shape() == Dims{0, 0});
}

TEST_CASE("sparsity: every block of queries visits itself") {
  for (const SparsityOptions& o : patterns) {
    const Tensor layout = sparsity_layout(o, 200);
    for (int64_t i = 0; i < layout.size(0); ++i) CHECK(layout.at({i, i}) == 1);
  }
}

TEST_CASE("sparsity: big bird adds just the random blocks to global and window, by the seed") {
  const int64_t n = 20;
  const SparsityOptions o{.pattern = Sparsity::big_bird, .block = 8, .random = 3, .seed = 1};
  SparsityOptions fixed_part = o, other = o, all = o;
  fixed_part.pattern = Sparsity::global_window;
  other.seed = 2;
  all.random = 1000;
  const Tensor layout = sparsity_layout(o, 8 * n), base = sparsity_layout(fixed_part, 8 * n);
  check_identical(layout, sparsity_layout(o, 8 * n));
  CHECK(drawn(layout) != drawn(sparsity_layout(other, 8 * n)));
  CHECK(drawn(sparsity_layout(all, 24)) == "xxx xxx xxx");
  std::set<int64_t> columns;
  for (int64_t i = 0; i < n; ++i) {
    int64_t more = 0;
    for (int64_t j = 0; j < n; ++j) {
      CHECK(layout.at({i, j}) >= base.at({i, j}));
      if (layout.at({i, j}) == base.at({i, j})) continue;
      ++more;
      columns.insert(j);
    }
    CHECK(more == (i == 0 ? 0 : 3));  // block 0 sees all already
  }
  CHECK(columns.size() > 12);  // 57 draws of 19
  // Every block that is left is as likely: 2000 seeds, one draw of 7 in row 1 of 10.
  std::vector<int> counts(10);
  SparsityOptions one{.pattern = Sparsity::big_bird, .block = 1};
  for (one.seed = 0; one.seed < 2000; ++one.seed) {
    const auto v = sparsity_layout(one, 10).to_vector<double>();
    for (size_t j = 3; j < 10; ++j) counts[j] += v[10 + j] != 0;
  }
  double chi_square = 0;
  for (size_t j = 3; j < 10; ++j) chi_square += std::pow(counts[j] - 2000.0 / 7, 2) / (2000.0 / 7);
  CHECK(chi_square < 22.5);  // 6 degrees of freedom: p = .001
}

TEST_CASE("sparsity: attention is that under the formula's mask") {
  const int64_t T = 150;
  const Tensor qkv = random_tensor({2, T, 3, 2, 8}, DType::float32, 1);
  for (const SparsityOptions& o : patterns)
    for (bool causal : {false, true}) {
      const Tensor layout = sparsity_layout(o, T);
      std::vector<bool> mask;
      for (int64_t i = 0; i < T; ++i)
        for (int64_t j = 0; j < T; ++j) mask.push_back(layout.at({i / o.block, j / o.block}) != 0);
      check_close(attend(qkv, with(o, T, {.causal = causal})),
                  Array(attend(qkv, {.mask = Tensor::from(mask, {T, T}), .causal = causal})), 1e-6);
    }
  // A block for itself is a sequence of its own.
  const Tensor whole = attend(qkv, with({.pattern = Sparsity::block, .block = 50}, T));
  for (int64_t at = 0; at < T; at += 50)
    check_close(slice(whole, 1, at, at + 50), Array(attend(slice(qkv, 1, at, at + 50), {})), 1e-6);
}

TEST_CASE("sparsity: a window, blocks or strides that reach everything are dense attention") {
  const int64_t T = 100;
  const Tensor qkv = random_tensor({1, T, 3, 2, 8}, DType::float32, 2), dense = attend(qkv, {});
  for (const SparsityOptions& o :
       std::vector<SparsityOptions>{{},
                                    {.pattern = Sparsity::sliding_window, .window = T},
                                    {.pattern = Sparsity::block, .block = T},
                                    {.pattern = Sparsity::strided, .block = 7, .stride = 1},
                                    {.pattern = Sparsity::global_window, .block = 16, .window = 7},
                                    {.pattern = Sparsity::big_bird, .block = 16, .global = 7}})
    check_identical(attend(qkv, with(o, T)), dense);
  check_identical(attend(qkv, with({.pattern = Sparsity::sliding_window, .window = 9}, T)), attend(qkv, {.window = 9}));
  // The narrower of the layer's window and the call's.
  CHECK(with({.pattern = Sparsity::sliding_window, .window = 9}, T, {.window = 5}).window == 5);
  CHECK(with({.pattern = Sparsity::sliding_window, .window = 9}, T, {.window = 50}).window == 9);
  CHECK(with({.pattern = Sparsity::block}, T, {.window = 5}).window == 5);
}

TEST_CASE("sparsity: the grouped layer's option is its attention over those blocks") {
  const auto layer = [](const SparsityOptions& o, double dropout = 0) {
    manual_seed(4);
    return nn::GroupedMultiHeadAttention({.embed_dim = 16, .groups = 2, .dropout = dropout, .sparsity = o});
  };
  const int64_t T = 150;
  auto dense = layer({});
  const auto run = [&](nn::GroupedMultiHeadAttention& l, const AttentionOptions& options) {
    const Tensor x = random_tensor({2, T, 16}, DType::float32, 5).requires_grad_();
    l.zero_grad();
    const Tensor y = l(x, options);
    y.backward(random_tensor(y.shape(), DType::float32, 6));
    return Tensors{y.detach(), x.grad(), l.weight.tensor().grad()};
  };
  for (const SparsityOptions& o : patterns) {
    auto sparse = layer(o);
    for (bool causal : {false, true}) {
      const Tensors got = run(sparse, {.causal = causal});
      const Tensors want = run(dense, {.causal = causal, .layout = sparsity_layout(o, T), .block = o.block});
      for (size_t i = 0; i < 3; ++i) check_identical(got[i], want[i]);
      CHECK(sum(abs(got[0] - run(dense, {.causal = causal})[0])).item() > 0.1);
    }
    check_identical(sparse(random_tensor({T, 16}, DType::float32, 7)),
                    select(sparse(random_tensor({1, T, 16}, DType::float32, 7)), 0, 0));
  }
  auto window = layer({.pattern = Sparsity::sliding_window, .window = 8});
  check_identical(run(window, {})[1], run(dense, {.window = 8})[1]);
  REQUIRE_THROWS_WITH(layer({.pattern = Sparsity::block, .block = -1}),
                      "GroupedMultiHeadAttention: sparsity.block is -1; it must be at least 1");
}

TEST_CASE("sparsity: the grouped layer warns once of dense attention over more than 1024 tokens (C40)") {
  std::vector<std::string> got;
  const auto before = set_warning_handler([&](const std::string& text) { got.push_back(text); });
  forget_warnings();
  const no_grad off;
  nn::GroupedMultiHeadAttention dense({.embed_dim = 8, .groups = 2}),
      sparse({.embed_dim = 8, .groups = 2, .sparsity = {.pattern = Sparsity::block}}),
      near({.embed_dim = 8, .groups = 2, .sparsity = {.pattern = Sparsity::sliding_window, .window = 64}});
  const Tensor x = zeros({1025, 8});
  dense(slice(x, 0, 0, 1024));
  sparse(x);
  near(x);
  dense(x, AttentionOptions{.window = 10});
  dense(x, AttentionOptions{.layout = ones({2, 2}, {.dtype = DType::boolean}), .block = 1000});
  CHECK(got.empty());
  dense(x);
  dense(x);
  CHECK(got == std::vector<std::string>{
                   "GroupedMultiHeadAttention: dense attention over 1025 tokens: the time grows with their square; the "
                   "option sparsity, or a window or layout in the call, makes it grow with what is visited"});
  // Talking heads store every score whatever a window hides.
  nn::GroupedMultiHeadAttention talking({.embed_dim = 8,
                                         .groups = 2,
                                         .exchange = nn::GroupExchange::talking_heads,
                                         .sparsity = {.pattern = Sparsity::sliding_window, .window = 64}});
  got.clear();
  forget_warnings();
  talking(slice(x, 0, 0, 1024));
  CHECK(got.empty());
  talking(x);
  talking(x, AttentionOptions{.window = 10});
  CHECK(got == std::vector<std::string>{
                   "GroupedMultiHeadAttention: talking heads over 1025 tokens store the scores of all pairs of tokens, "
                   "so that memory and time grow with their square, also with a window; another exchange stores none"});
  set_warning_handler(before);
  forget_warnings();
}

TEST_CASE("sparsity: errors") {
  const auto check = [](const SparsityOptions& o) { nn::check_sparsity("Layer", o); };
  REQUIRE_THROWS_AS(check({.pattern = Sparsity::block, .block = 0}), ValueError);
  REQUIRE_THROWS_WITH(check({.pattern = Sparsity::block, .block = 0}),
                      "Layer: sparsity.block is 0; it must be at least 1");
  REQUIRE_THROWS_WITH(check({.pattern = Sparsity::sliding_window, .window = 0}),
                      "Layer: sparsity.window is 0; it must be at least 1");
  REQUIRE_THROWS_WITH(check({.pattern = Sparsity::sliding_window}),
                      "Layer: sparsity.window is not set; sliding_window needs it, in tokens: with 128 a token sees "
                      "those at a distance below 128");
  REQUIRE_THROWS_AS(with({.pattern = Sparsity::sliding_window}, 64), ValueError);
  REQUIRE_THROWS_WITH(check({.pattern = Sparsity::strided, .window = -2}),
                      "Layer: sparsity.window is -2; it must be at least 0");
  REQUIRE_THROWS_WITH(check({.pattern = Sparsity::strided, .stride = 0}),
                      "Layer: sparsity.stride is 0; it must be at least 1");
  REQUIRE_THROWS_WITH(check({.pattern = Sparsity::global_window, .global = -2}),
                      "Layer: sparsity.global is -2; it must be at least 0");
  REQUIRE_THROWS_WITH(check({.pattern = Sparsity::big_bird, .random = -2}),
                      "Layer: sparsity.random is -2; it must be at least 0");
  REQUIRE_NOTHROW(check({.block = 0, .window = -1, .stride = 0, .global = -1, .random = -1}));  // dense reads none
  REQUIRE_NOTHROW(check({.pattern = Sparsity::block, .window = -2, .stride = 0}));
  REQUIRE_THROWS_WITH(sparsity_layout({.pattern = Sparsity::block}, -1),
                      "sparsity_layout: tokens is -1; it must be at least 0");
  REQUIRE_THROWS_WITH(
      with({.pattern = Sparsity::block}, 64, {.layout = ones({1, 1}, {.dtype = DType::boolean}), .block = 64}),
      "layer: a layout in a call; the layer has one of its own by its option sparsity");
  REQUIRE_THROWS_WITH(with({.pattern = Sparsity::block, .block = 16}, 64, {.block = 32}),
                      "layer: block = 32 in a call; the layer's option sparsity has block = 16");
}
