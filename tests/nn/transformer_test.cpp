// Transformer blocks and stacks against the same thing written by hand.
#include "tutti/nn/transformer.h"

#include "support/module_gradcheck.h"
#include "support/op_test.h"
#include "tutti/core/error.h"
#include "tutti/ops/activation.h"
#include "tutti/ops/arithmetic.h"
#include "tutti/ops/create.h"
#include "tutti/ops/reduce.h"
#include "tutti/ops/unary.h"

using namespace tutti;
using namespace tutti_test;
using nn::TransformerBlock;

TEST_CASE("FeedForward: Linear, GELU, Linear") {
  for (auto form : {nn::Activation::gelu, nn::Activation::gelu_tanh, nn::Activation::relu, nn::Activation::silu}) {
    nn::FeedForward f({.embed_dim = 6, .hidden = 10, .activation = form});
    const Tensor x = random_tensor({4, 6}, DType::float32, 1);
    check_identical(f(x).detach(), f.down(nn::activate(f.up(x), form)).detach());
    CHECK(f.parameter_count() == 6 * 10 + 10 + 10 * 6 + 6);
  }
}

TEST_CASE("FeedForward: with a gate, and without biases") {
  nn::FeedForward f({.embed_dim = 6, .hidden = 10, .activation = nn::Activation::silu, .gated = true, .bias = false});
  const Tensor x = random_tensor({4, 6}, DType::float32, 1);
  check_identical(f(x).detach(), f.down(silu((*f.gate)(x)) * f.up(x)).detach());
  CHECK(f.parameter_count() == 3 * 6 * 10);
  f.to(DType::float64);
  CHECK(gradcheck_module(f, [&](const std::vector<Tensor>& in) { return f(in[0]); },
                         {random_tensor({3, 6}, DType::float64, 1)}));
}

TEST_CASE("Norm: is LayerNorm or RMSNorm, with their parameters' names") {
  const Tensor x = random_tensor({4, 6}, DType::float32, 1);
  nn::Norm layer({.width = 6, .eps = 1e-3}), rms({.width = 6, .kind = nn::NormKind::rms, .eps = 1e-3});
  check_identical(layer(x).detach(), nn::LayerNorm({.width = 6, .eps = 1e-3})(x).detach());
  check_identical(rms(x).detach(), nn::RMSNorm({.width = 6, .eps = 1e-3})(x).detach());
  CHECK(layer.parameter_count() == 12);
  CHECK(rms.state_dict().count("weight") == 1);
  CHECK(rms.parameter_count() == 6);
  CHECK(nn::Norm({.width = 6, .bias = false}).parameter_count() == 6);
  CHECK(nn::LayerNorm({.width = 6, .bias = false}).parameter_count() == 6);
  REQUIRE_THROWS_WITH(rms(ones({2, 5})), "RMSNorm: input [2, 5] does not end in width 6");
  REQUIRE_THROWS_WITH(nn::Norm({.kind = nn::NormKind::rms}), "RMSNorm: width is 0; it must be at least 1");
  REQUIRE_THROWS_WITH(nn::Norm({.width = 2, .eps = -1}), "LayerNorm: eps is -1; it must be finite and not negative");
}

TEST_CASE("TransformerBlock: what pretrained models need of it") {
  nn::TransformerEncoder llama(
      {.block = {
           .embed_dim = 8,
           .attention = nn::standard({.num_heads = 4, .bias = false, .num_kv_heads = 2, .rotary = nn::RotaryOptions{}}),
           .hidden = 12,
           .activation = nn::Activation::silu,
           .gated = true,
           .bias = false,
           .norm = nn::NormKind::rms,
           .norm_eps = 1e-6}});
  std::vector<std::string> names;
  for (const auto& [name, t] : llama.named_parameters()) names.push_back(name);
  CHECK(names == std::vector<std::string>{"blocks.0.norm1.weight", "blocks.0.attention.qkv.weight",
                                          "blocks.0.attention.out.weight", "blocks.0.norm2.weight",
                                          "blocks.0.ffn.gate.weight", "blocks.0.ffn.up.weight",
                                          "blocks.0.ffn.down.weight", "norm.weight"});
  llama.to(DType::float64);
  CHECK(gradcheck_module(llama, [&](const std::vector<Tensor>& in) { return llama(in[0], {.causal = true}); },
                         {random_tensor({1, 3, 8}, DType::float64, 1)}));
}

TEST_CASE("TransformerBlock: both orders of norm and branch, either attention") {
  for (bool norm_first : {true, false})
    for (const nn::AttentionSpec& attention :
         {nn::standard({.num_heads = 2}), nn::grouped({.num_heads = 4, .groups = 2})}) {
      TransformerBlock block({.embed_dim = 8, .attention = attention, .hidden = 12, .norm_first = norm_first});
      const Tensor x = random_tensor({2, 5, 8}, DType::float32, 1);
      const AttentionOptions causal{.causal = true};
      const auto attend = [&](const Tensor& y) {
        return std::visit([&](auto& layer) { return layer(y, causal); }, block.attention);
      };
      Tensor want;
      if (norm_first) {
        const Tensor y = x + attend(block.norm1(x));
        want = y + block.ffn(block.norm2(y));
      } else {
        const Tensor y = block.norm1(x + attend(x));
        want = block.norm2(y + block.ffn(y));
      }
      check_identical(block(x, causal).detach(), want.detach());
    }
}

TEST_CASE("TransformerBlock: parameter counts, default hidden width, names") {
  const int64_t c = 16;
  TransformerBlock standard({.embed_dim = c, .attention = nn::standard({.num_heads = 4})});
  CHECK(standard.parameter_count() == 12 * c * c + 4 * c + 5 * c + 4 * c);  // matrices, attention, FFN, norms
  TransformerBlock grouped({.embed_dim = c, .attention = nn::grouped({.groups = 4})});
  CHECK(grouped.parameter_count() == 12 * c * c - 9 * c * c / 4 + 13 * c);
  std::vector<std::string> names;
  for (const auto& [name, t] : grouped.named_parameters()) names.push_back(name);
  CHECK(names == std::vector<std::string>{"norm1.weight", "norm1.bias", "attention.weight", "attention.bias",
                                          "attention.out.weight", "attention.out.bias", "norm2.weight", "norm2.bias",
                                          "ffn.up.weight", "ffn.up.bias", "ffn.down.weight", "ffn.down.bias"});
}

TEST_CASE("TransformerBlock: options in braces") {
  TransformerBlock block({.embed_dim = 8, .attention = nn::grouped({.groups = 2})});
  nn::MultiHeadAttention layer({.embed_dim = 8, .num_heads = 2});
  nn::TransformerEncoder stack({.block = {.embed_dim = 8}, .layers = 2});
  const Tensor x = random_tensor({2, 5, 8}, DType::float32, 1);
  check_identical(block(x, {.causal = true}), block.forward(x, {.causal = true}));
  check_identical(layer(x, {.causal = true}), layer.forward(x, {.causal = true}));
  check_identical(stack(x, {.window = 2}), stack.forward(x, {.window = 2}));
  const AttentionOptions options{.causal = true};
  check_identical(block(x, options), block(x, {.causal = true}));
}

TEST_CASE("TransformerBlock: dropout works in training only") {
  TransformerBlock block({.embed_dim = 8, .dropout = 0.5});
  const Tensor x = random_tensor({1, 4, 8}, DType::float32, 1);
  CHECK(sum(square(block(x) - block(x))).item() > 0);
  block.eval();
  check_identical(block(x).detach(), block(x).detach());
}

TEST_CASE("TransformerEncoder: blocks in a row, each with its own weights") {
  nn::TransformerEncoder encoder({.block = {.embed_dim = 8, .attention = nn::grouped({.groups = 2})}, .layers = 3});
  const Tensor x = random_tensor({2, 5, 8}, DType::float32, 1);
  Tensor want = x;
  for (TransformerBlock& block : encoder.blocks) want = block(want);
  check_identical(encoder(x).detach(), (*encoder.norm)(want).detach());
  CHECK(encoder.parameters().size() == 3 * 12 + 2);
  CHECK(sum(square(encoder.blocks[0].ffn.up.weight - encoder.blocks[1].ffn.up.weight)).item() > 0);
  nn::TransformerEncoder bare({.block = {.embed_dim = 8}, .layers = 0, .final_norm = false});
  CHECK(bare(x).impl() == x.impl());

  const nn::TransformerEncoder copy = encoder;
  CHECK(copy.parameters()[0].impl() != encoder.parameters()[0].impl());
  std::get<nn::GroupedMultiHeadAttention>(encoder.blocks[1].attention).out = nn::Linear({.in = 7, .out = 8});
  REQUIRE_THROWS_WITH(encoder(x),
                      "in blocks.1.attention.out: linear: input width 8 does not match weight [8, 7] (in = 7)");
}

TEST_CASE("TransformerBlock: wrong options and inputs") {
  REQUIRE_THROWS_WITH(TransformerBlock({}), "TransformerBlock: embed_dim is 0; it must be at least 1");
  REQUIRE_THROWS_WITH(TransformerBlock({.embed_dim = 8, .attention = nn::standard({.embed_dim = 16})}),
                      "TransformerBlock: attention.embed_dim = 16 differs from embed_dim = 8; leave it 0 to take the "
                      "block's");
  REQUIRE_THROWS_WITH(
      TransformerBlock({.embed_dim = 10, .attention = nn::grouped({})}),
      "GroupedMultiHeadAttention: groups = 4 does not divide embed_dim = 10; of the numbers nearby, 2 and 5 do");
  REQUIRE_THROWS_WITH(TransformerBlock({.embed_dim = 8, .hidden = -1}),
                      "TransformerBlock: hidden is -1; it must be positive, or 0 for 4 embed_dim");
  REQUIRE_THROWS_WITH(TransformerBlock({.embed_dim = 8, .dropout = 3}),
                      "TransformerBlock: dropout is 3; it must be between 0 and 1");
  REQUIRE_THROWS_WITH(nn::TransformerEncoder({.block = {.embed_dim = 8}, .layers = -1}),
                      "TransformerEncoder: layers is -1; it must not be negative");
  nn::TransformerEncoder encoder({.block = {.embed_dim = 8}});
  REQUIRE_THROWS_WITH(encoder(ones({2, 3, 9})),
                      "in blocks.0.norm1: LayerNorm: input [2, 3, 9] does not end in width 8");
  REQUIRE_THROWS_WITH(
      encoder(ones({8})),
      "in blocks.0.attention: MultiHeadAttention: input [8] is neither [batch, tokens, 8] nor [tokens, 8]");
}
