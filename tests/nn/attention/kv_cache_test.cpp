// The cache of keys and values: token by token as all at once, in memory that is taken once; and what does not fit.
#include "tutti/nn/attention/kv_cache.h"

#include "support/op_test.h"
#include "tutti/autograd/node.h"
#include "tutti/core/error.h"
#include "tutti/nn/transformer.h"
#include "tutti/ops/copy.h"
#include "tutti/ops/create.h"
#include "tutti/ops/extrema.h"
#include "tutti/ops/index.h"
#include "tutti/ops/join.h"
#include "tutti/ops/linear.h"
#include "tutti/ops/shape.h"

using namespace tutti;
using namespace tutti_test;
using nn::GroupedMultiHeadAttention;
using nn::KVCache;
using nn::MultiHeadAttention;

namespace {

Tensor tokens_of(const Tensor& x, int64_t begin, int64_t end) { return slice(x, -2, begin, end); }

/// x in parts of these lengths, each after the ones before.
template <class Module, class Cache>
Tensor in_parts(Module& module, const Tensor& x, Cache& cache, const std::vector<int64_t>& lengths,
                const AttentionOptions& options = {}) {
  std::vector<Tensor> parts;
  int64_t at = 0;
  for (const int64_t n : lengths) {
    parts.push_back(module(tokens_of(x, at, at + n), cache, options));
    at += n;
  }
  return cat(parts, -2);
}

}  // namespace

TEST_CASE("KVCache: in parts as all at once, for every form of the layers") {
  const no_grad off;
  const Tensor x = random_tensor({2, 9, 16}, DType::float32, 1);
  const auto check = [&x](auto layer, int64_t window = 0) {
    const AttentionOptions options{.causal = true, .window = window};
    const Array want(layer(x, options));
    for (const std::vector<int64_t>& lengths : {std::vector<int64_t>{9}, {4, 1, 1, 3}, {0, 8, 1}}) {
      KVCache cache(9);
      check_close(in_parts(layer, x, cache, lengths, {.window = window}), want, 2e-6);
      CHECK(cache.tokens() == 9);
    }
    KVCache cache(20);  // one sequence, without a batch
    check_close(in_parts(layer, select(x, 0, 1), cache, {5, 4}, {.window = window}),
                Array(layer(select(x, 0, 1), options)), 2e-6);
  };
  check(MultiHeadAttention({.embed_dim = 16, .num_heads = 4}));
  check(MultiHeadAttention({.embed_dim = 16, .num_heads = 4}), 3);
  check(MultiHeadAttention({.embed_dim = 16, .num_heads = 4, .bias = false, .num_kv_heads = 2, .rotary = {{}}}));
  check(GroupedMultiHeadAttention({.embed_dim = 16, .groups = 2}));
  check(GroupedMultiHeadAttention({.embed_dim = 16, .num_heads = 4, .groups = 2, .num_kv_heads = 2}));
  check(GroupedMultiHeadAttention({.embed_dim = 16,
                                   .groups = 4,
                                   .scale = nn::AttentionScale::learned,
                                   .output = nn::OutputProjection::grouped,
                                   .norm = nn::ProjectionNorm::per_group,
                                   .exchange = nn::GroupExchange::shuffle}));
  check(GroupedMultiHeadAttention({.embed_dim = 16, .groups = 4, .exchange = nn::GroupExchange::inter_group}));
  GroupedMultiHeadAttention sliding(
      {.embed_dim = 16, .groups = 2, .sparsity = {.pattern = nn::Sparsity::sliding_window, .window = 4}});
  check(sliding);
}

TEST_CASE("KVCache: masks and dtypes") {
  const no_grad off;
  MultiHeadAttention layer({.embed_dim = 8, .num_heads = 2, .rotary = {{}}});
  const Tensor x = random_tensor({2, 5, 8}, DType::float32, 2);
  // The second sequence begins two tokens later: its first two are padding, which nobody sees.
  const Tensor shown =
      to(cat({ones({1, 1, 1, 5}), cat({zeros({1, 1, 1, 2}), ones({1, 1, 1, 3})}, 3)}, 0), DType::boolean);
  KVCache cache(5), alone(3);
  const Tensor first = layer(tokens_of(x, 0, 3), cache, {.mask = slice(shown, 3, 0, 3)});
  const Tensor rest = layer(tokens_of(x, 3, 5), cache, {.mask = shown});
  check_close(rest, Array(slice(layer(x, {.mask = shown, .causal = true}), 1, 3, 5)), 2e-6);
  check_close(select(rest, 0, 1),
              Array(slice(in_parts(layer, tokens_of(select(x, 0, 1), 2, 5), alone, {2, 1}), 0, 1, 3)), 1e-5);
  REQUIRE_THROWS_WITH(layer(tokens_of(x, 4, 5), cache, {.mask = shown}),
                      "MultiHeadAttention: mask of shape [2, 1, 1, 5] does not broadcast to the scores' [2, 2, 1, 6]");
  CHECK(cache.tokens() == 5);  // as it was

  for (const DType dtype : {DType::float64, DType::bfloat16, DType::float16}) {
    layer.to(dtype);
    KVCache own(5);
    const Tensor y = to(x, dtype);
    const double tolerance = dtype == DType::float64 ? 1e-14 : dtype == DType::float16 ? 2e-3 : 2e-2;
    check_close(in_parts(layer, y, own, {3, 2}), Array(layer(y, {.causal = true})), tolerance);
  }
}

TEST_CASE("KVCache: memory is taken once, and what is there is not copied") {
  const no_grad off;
  MultiHeadAttention layer({.embed_dim = 8, .num_heads = 2, .num_kv_heads = 1});
  const Tensor x = random_tensor({3, 40, 8}, DType::float32, 3);
  const size_t before = memory::stats().current;
  KVCache cache(40);
  CHECK(memory::stats().current == before);
  layer(tokens_of(x, 0, 1), cache);
  CHECK(memory::stats().current == before + 2 * 3 * 40 * 4 * sizeof(float));  // a multiple of 64
  const Tensor kv = random_tensor({3, 1, 1, 4}, DType::float32, 4);
  const auto first = cache.append("test", layer.qkv.weight, kv, kv);
  for (int64_t i = 2; i < 40; ++i) layer(tokens_of(x, i, i + 1), cache);
  cache.truncate(2);
  const auto again = cache.append("test", layer.qkv.weight, kv, kv);
  CHECK(again.k.data() == first.k.data());
  CHECK(again.v.data() == first.v.data());
  CHECK(again.k.shape() == Dims{3, 1, 3, 4});
  check_identical(tokens_of(again.k, 1, 2), kv);
  check_identical(tokens_of(again.v, 2, 3), kv);
  cache.clear();
  layer(x, cache);  // the same memory
  CHECK(cache.append("test", layer.qkv.weight, slice(kv, 2, 0, 0), slice(kv, 2, 0, 0)).k.data() == first.k.data());
}

TEST_CASE("KVCache: a copy goes on by itself, truncate goes back") {
  const no_grad off;
  MultiHeadAttention layer({.embed_dim = 8, .num_heads = 2, .rotary = {{}}});
  const Tensor prompt = random_tensor({1, 4, 8}, DType::float32, 5);
  const Tensor a = random_tensor({1, 3, 8}, DType::float32, 6), b = random_tensor({1, 3, 8}, DType::float32, 7);
  KVCache cache(16);
  layer(prompt, cache);
  KVCache other = cache;
  const Tensor with_a = layer(a, cache), with_b = layer(b, other);
  check_close(with_a, Array(tokens_of(layer(cat({prompt, a}, 1), {.causal = true}), 4, 7)), 2e-6);
  check_close(with_b, Array(tokens_of(layer(cat({prompt, b}, 1), {.causal = true}), 4, 7)), 2e-6);
  cache.truncate(4);
  check_identical(layer(b, cache), with_b);
}

TEST_CASE("TransformerEncoder: caches for all blocks, either order, either attention") {
  const no_grad off;
  for (const nn::AttentionSpec& attention :
       {nn::standard({.num_heads = 4, .num_kv_heads = 2, .rotary = {{}}}), nn::grouped({.groups = 2})})
    for (const bool norm_first : {true, false}) {
      nn::TransformerEncoder model(
          {.block = {.embed_dim = 16, .attention = attention, .norm_first = norm_first}, .layers = 3});
      const Tensor x = random_tensor({2, 7, 16}, DType::float32, 8);
      std::vector<KVCache> caches(3, KVCache(7));
      check_close(in_parts(model, x, caches, {3, 1, 1, 2}), Array(model(x, {.causal = true})), 1e-5);
      KVCache one(7);
      check_close(in_parts(model.blocks[0], x, one, {6, 1}), Array(model.blocks[0](x, {.causal = true})), 1e-5);
      check_identical(model.blocks[1](x, caches[2] = KVCache(7)), model.blocks[1](x, {.causal = true}));
    }
}

TEST_CASE("KVCache: the same tokens are written with it and without it") {
  const no_grad off;
  nn::TransformerEncoder model(
      {.block = {.embed_dim = 16, .attention = nn::standard({.num_heads = 2, .rotary = {{}}})}, .layers = 2});
  const Tensor table = random_tensor({11, 16}, DType::float32, 12);  // embeddings, and the head's weight
  const auto likeliest = [&table](const Tensor& y) { return argmax(linear(select(y, 1, -1), table), -1); };  // [B]
  std::vector<KVCache> caches(2, KVCache(14));
  Tensor with = Tensor::from({1, 2, 3, 4, 5, 6}, {2, 3}, DType::int64), without = with, next = with;
  for (int i = 0; i < 12; ++i) {
    next = unsqueeze(likeliest(model(embedding(next, table), caches)), 1);
    with = cat({with, next}, 1);
    without = cat({without, unsqueeze(likeliest(model(embedding(without, table), {.causal = true})), 1)}, 1);
  }
  check_identical(with, without);
}

TEST_CASE("KVCache: what does not fit says so, and changes nothing") {
  MultiHeadAttention layer({.embed_dim = 8, .num_heads = 2}), other = layer;
  const Tensor x = random_tensor({2, 5, 8}, DType::float32, 9);
  KVCache cache(8);
  REQUIRE_THROWS_WITH(KVCache(0), "KVCache: max_tokens is 0; it must be at least 1");
  REQUIRE_THROWS_WITH(layer(x, cache), "MultiHeadAttention: a KVCache passes no gradients on; call with no_grad");
  CHECK(cache.tokens() == 0);
  const no_grad off;
  layer(x, cache);
  REQUIRE_THROWS_WITH(layer(x, cache),
                      "MultiHeadAttention: 5 more tokens do not fit a KVCache that holds 5 of at most 8");
  REQUIRE_THROWS_WITH(other(tokens_of(x, 0, 1), cache),
                      "MultiHeadAttention: the KVCache holds 5 tokens of another layer; each layer needs its own, and "
                      "clear() frees one for another");
  REQUIRE_THROWS_WITH(layer(tokens_of(slice(x, 0, 0, 1), 0, 1), cache),
                      "MultiHeadAttention: k [1, 2, 1, 4] does not go on from what the KVCache holds, [2, 2, 5, 4] "
                      "(batch, heads, tokens, width); clear() it");
  REQUIRE_THROWS_WITH(layer(tokens_of(x, 0, 1), cache, {.layout = ones({1, 1}, {DType::boolean}), .block = 64}),
                      "MultiHeadAttention: a layout with a KVCache; a mask or window fits");
  REQUIRE_THROWS_WITH(layer(zeros({2, 1, 7}), cache),
                      "MultiHeadAttention: input [2, 1, 7] is neither [batch, tokens, 8] nor [tokens, 8]");
  REQUIRE_THROWS_WITH(layer(tokens_of(x, 0, 1), cache, {.window = -1}), "MultiHeadAttention: window -1 is negative");
  REQUIRE_THROWS_WITH(cache.truncate(9), "KVCache: truncate to 9 tokens; it holds 5");
  REQUIRE_THROWS_AS(cache.truncate(-1), ValueError);
  CHECK(cache.tokens() == 5);

  layer.load_state_dict(other.state_dict());
  REQUIRE_THROWS_WITH(layer(tokens_of(x, 0, 1), cache),
                      "MultiHeadAttention: the weights have changed since the KVCache got its 5 tokens; clear() it and "
                      "begin again");
  cache.clear();
  other(tokens_of(x, 0, 1), cache);  // another layer
  cache.clear();
  CHECK(layer(slice(x, 0, 0, 1), cache).shape() == Dims{1, 5, 8});  // another batch
  CHECK(cache.tokens() == 5);

  nn::TransformerEncoder model({.block = {.embed_dim = 8}, .layers = 2});
  std::vector<KVCache> three(3, KVCache(4)), two(2, KVCache(4));
  REQUIRE_THROWS_WITH(model(x, three), "TransformerEncoder: 3 caches for 2 blocks");
  REQUIRE_THROWS_WITH(model(x, two),
                      "in blocks.0.attention: MultiHeadAttention: 5 more tokens do not fit a KVCache that "
                      "holds 0 of at most 4");
  model(tokens_of(x, 0, 2), two);
  two[1].truncate(1);
  REQUIRE_THROWS_WITH(model(tokens_of(x, 2, 3), two),
                      "TransformerEncoder: the caches of its blocks hold 2 and 1 tokens; clear() them");
}

TEST_CASE("KVCache: the grouped layer's options that need all tokens at once") {
  const no_grad off;
  const Tensor x = random_tensor({1, 2, 8}, DType::float32, 10);
  const auto refuses = [&x](nn::GroupedMultiHeadAttentionOptions options, const std::string& reason) {
    options.embed_dim = 8;
    options.groups = 2;
    GroupedMultiHeadAttention layer(options);
    KVCache cache(4);
    REQUIRE_THROWS_WITH(layer(x, cache), "GroupedMultiHeadAttention: a KVCache does not go with " + reason);
    CHECK(cache.tokens() == 0);
  };
  refuses({.exchange = nn::GroupExchange::talking_heads}, "exchange = talking_heads");
  refuses({.exchange = nn::GroupExchange::cascade}, "exchange = cascade");
  refuses({.dynamic = {.candidates = {1, 2}}}, "dynamic.candidates");
  refuses({.sparsity = {.pattern = nn::Sparsity::strided}}, "sparsity by blocks");
}
