// The grouped layer's options against a plain composition with dense, block-diagonal weights, in float64: forward and
// every gradient.
#include "tutti/nn/attention/grouped_attention.h"

#include <cmath>

#include "support/grouped_layer.h"
#include "support/module_gradcheck.h"
#include "tutti/nn/init.h"
#include "tutti/ops/arithmetic.h"
#include "tutti/ops/copy.h"
#include "tutti/ops/create.h"
#include "tutti/ops/extrema.h"
#include "tutti/ops/index.h"
#include "tutti/ops/join.h"
#include "tutti/ops/linear.h"
#include "tutti/ops/matmul.h"
#include "tutti/ops/reduce.h"
#include "tutti/ops/shape.h"
#include "tutti/ops/softmax.h"
#include "tutti/ops/unary.h"

using namespace tutti;
using namespace tutti_test;

namespace {

/// Blocks [G, out, in] as the dense [G out, G in], differentiable.
Tensor block_diagonal(const Tensor& blocks) {
  const int64_t groups = blocks.size(0), out = blocks.size(1), in = blocks.size(2);
  Tensor dense;
  for (int64_t i = 0; i < groups; ++i) {
    const Tensor row = pad(select(blocks, 0, i), {0, i * in}, {0, (groups - 1 - i) * in});
    dense = i == 0 ? row : cat({dense, row}, 0);
  }
  return reshape(dense, {groups * out, groups * in});
}

Tensor part(const Tensor& x, int64_t i, int64_t parts) { return chunk(x, parts, -1)[static_cast<size_t>(i)]; }

/// (x - mean) / sqrt(var + eps) over each of `groups` parts of the last axis, by its definition.
Tensor normalized(const Tensor& x, int64_t groups, const nn::GroupedLayerNorm& norm, double eps) {
  std::vector<Tensor> parts;
  for (const Tensor& p : chunk(x, groups, -1))
    parts.push_back(div(sub(p, mean(p, -1, true)), pow(add(var(p, Dims{-1}, 0, true), eps), 0.5)));
  return add(mul(cat(parts, -1), norm.weight), norm.bias);
}

Tensor parameter_bias(const nn::Parameter& bias, int64_t i, int64_t parts) {
  return bias.defined() ? part(bias, i, parts) : Tensor();
}

/// What the layer should compute for x [B, T, C], written with dense weights and [T, T] scores, head by head.
Tensor by_definition(GroupedMultiHeadAttention& layer, const Tensor& x) {
  const Options& o = layer.options();
  const bool shared = layer.kv_weight.defined();
  Tensor qkv[3];
  for (int64_t i = 0; i < 3; ++i) {
    const bool kv = shared && i > 0;
    const Tensor w = select(kv ? layer.kv_weight : layer.weight, 0, kv ? i - 1 : i);
    const Tensor b = kv ? parameter_bias(layer.kv_bias, i - 1, 2) : parameter_bias(layer.bias, i, shared ? 1 : 3);
    qkv[i] = linear(x, block_diagonal(w), b);
  }
  if (o.norm != ProjectionNorm::none) {
    const int64_t parts = o.norm == ProjectionNorm::full ? 1 : o.groups;
    qkv[0] = normalized(qkv[0], parts, *layer.norm_q, o.norm_eps);
    qkv[1] = normalized(qkv[1], parts, *layer.norm_k, o.norm_eps);
  }
  const int64_t heads = o.head_mode == HeadMode::literal ? 1 : o.num_heads;
  const int64_t kv_heads = o.head_mode == HeadMode::literal ? 1 : o.num_kv_heads;
  const double width = static_cast<double>(o.scale == AttentionScale::group_dim   ? o.inner_dim / o.groups
                                           : o.scale == AttentionScale::embed_dim ? o.embed_dim
                                                                                  : o.inner_dim / heads);
  std::vector<Tensor> results;
  for (int64_t h = 0; h < heads; ++h) {
    const int64_t j = h / (heads / kv_heads);
    const Tensor scores = matmul(part(qkv[0], h, heads), transpose(part(qkv[1], j, kv_heads), -1, -2));
    const Tensor scaled = o.scale == AttentionScale::learned ? mul(scores, select(layer.head_scale, 0, h))
                                                             : div(scores, std::sqrt(width));
    results.push_back(matmul(softmax(scaled, -1), part(qkv[2], j, kv_heads)));
  }
  const Tensor context = cat(results, -1);
  if (auto* dense = std::get_if<nn::Linear>(&layer.out)) return (*dense)(context);
  if (auto* grouped = std::get_if<nn::GroupedLinear>(&layer.out))
    return linear(context, block_diagonal(grouped->weight), grouped->bias);
  return context;
}

void check_against_definition(const Options& o) {
  GroupedMultiHeadAttention layer = random_layer(o, 3);
  const Tensor x = leaf({2, 5, o.embed_dim}, 7), dy = random_tensor({2, 5, o.embed_dim}, DType::float64, 8);
  const Tensor want = by_definition(layer, x);
  want.backward(dy);
  const Array dx(x.grad());
  std::vector<Array> gradients;
  for (const auto& p : layer.parameters()) gradients.emplace_back(p.grad());
  layer.zero_grad();
  x.zero_grad();
  const Tensor got = layer(x);
  got.backward(dy);
  check_close(got.detach(), Array(want.detach()), 1e-12);
  check_close(x.grad(), dx, 1e-12);
  size_t i = 0;
  for (const auto& [name, p] : layer.named_parameters()) {
    INFO(name);
    check_close(p.grad(), gradients[i++], 1e-12);
  }
}

}  // namespace

TEST_CASE("grouped attention: every combination of heads, k/v heads, inner width and output is the dense composition") {
  int checked = 0;
  for (int64_t inner : {0, 16, 48})
    for (int64_t heads : {0, 1, 2, 4, 8})
      for (int64_t kv_heads : {0, 1, 2, 4})
        for (OutputProjection output : {OutputProjection::none, OutputProjection::dense, OutputProjection::grouped}) {
          const int64_t h = heads ? heads : 4, kv_width = (inner ? inner : 32) / h * (kv_heads ? kv_heads : h);
          if (kv_heads > h || kv_width % 4 != 0 || (output == OutputProjection::none && inner != 0)) continue;
          INFO("inner " << inner << ", heads " << heads << ", kv heads " << kv_heads << ", output " << name_of(output));
          check_against_definition({.embed_dim = 32,
                                    .num_heads = heads,
                                    .groups = 4,
                                    .num_kv_heads = kv_heads,
                                    .inner_dim = inner,
                                    .output = output});
          ++checked;
        }
  CHECK(checked == 115);
}

TEST_CASE("grouped attention: every scale and norm is the dense composition, with and without biases") {
  for (AttentionScale scale :
       {AttentionScale::group_dim, AttentionScale::head_dim, AttentionScale::embed_dim, AttentionScale::learned})
    for (ProjectionNorm norm : {ProjectionNorm::none, ProjectionNorm::per_group, ProjectionNorm::full})
      for (int64_t kv_heads : {0, 2})
        for (bool bias : {true, false}) {
          INFO("scale " << name_of(scale) << ", norm " << name_of(norm) << ", kv heads " << kv_heads << ", bias "
                        << bias);
          check_against_definition({.embed_dim = 24,
                                    .num_heads = 4,
                                    .groups = 2,
                                    .num_kv_heads = kv_heads,
                                    .inner_dim = 16,
                                    .scale = scale,
                                    .bias = bias,
                                    .norm = norm});
        }
}

TEST_CASE("grouped attention: talking heads that do not talk, with fewer k/v heads, norm and scale, are the same") {
  const Options o{.embed_dim = 24,
                  .num_heads = 4,
                  .groups = 2,
                  .num_kv_heads = 2,
                  .inner_dim = 16,
                  .scale = AttentionScale::learned,
                  .norm = ProjectionNorm::per_group,
                  .exchange = nn::GroupExchange::talking_heads};
  GroupedMultiHeadAttention layer = random_layer(o, 3);
  auto& talking = std::get<nn::TalkingHeads>(layer.exchange);
  for (const nn::Parameter* p : {&talking.before, &talking.after}) {
    const no_grad off;
    copy_(*p, eye(4));
  }
  const Tensor x = leaf({2, 5, 24}, 7);
  check_close(layer(x).detach(), Array(by_definition(layer, x).detach()), 1e-12);
}

TEST_CASE("grouped attention: literal is one head over all channels, whatever num_heads says (C15)") {
  for (int64_t heads : {0, 1, 4, 7})
    for (int64_t inner : {0, 16}) {
      const Options o{.embed_dim = 32,
                      .num_heads = heads,
                      .head_mode = HeadMode::literal,
                      .inner_dim = inner,
                      .output = OutputProjection::grouped};
      check_against_definition(o);
      Options one = o;
      one.head_mode = HeadMode::heads;
      one.num_heads = 1;
      GroupedMultiHeadAttention literal = random_layer(o, 5), single = random_layer(one, 5);
      const Tensor x = random_tensor({2, 6, 32}, DType::float64, 6);
      check_identical(literal(x).detach(), single(x).detach());
      CHECK(literal.options().num_heads == 1);
    }
}

TEST_CASE("grouped attention: the learned scale starts as head_dim, one for each head") {
  const auto make = [](AttentionScale scale) {
    manual_seed(4);
    GroupedMultiHeadAttention layer({.embed_dim = 32, .num_heads = 8, .groups = 2, .inner_dim = 64, .scale = scale});
    layer.to(DType::float64);
    return layer;
  };
  GroupedMultiHeadAttention learned = make(AttentionScale::learned), fixed = make(AttentionScale::head_dim);
  CHECK(learned.head_scale.shape() == Dims{8});
  CHECK(learned.score_scale() == 1);
  CHECK(fixed.score_scale() == 1 / std::sqrt(8.0));
  CHECK(make(AttentionScale::group_dim).score_scale() == 1 / std::sqrt(32.0));  // E/G, not C/G
  CHECK(make(AttentionScale::embed_dim).score_scale() == 1 / std::sqrt(32.0));
  nn::init::constant_(learned.head_scale, 1 / std::sqrt(8.0));  // in float64, which float32's start only approximates
  const Tensor x = random_tensor({2, 6, 32}, DType::float64, 6);
  check_close(learned(x).detach(), Array(fixed(x).detach()), 1e-12);
}

TEST_CASE("grouped attention: parameter counts of every option (C8, C23)") {
  const auto count = [](const Options& o) { return GroupedMultiHeadAttention(o).parameter_count(); };
  for (int64_t c : {48, 96})
    for (int64_t g : {1, 2, 4})
      for (int64_t e : {c / 2, c, 2 * c}) {
        CHECK(count({.embed_dim = c, .groups = g, .inner_dim = e}) == 3 * (e * c / g + e) + e * c + c);
        CHECK(count({.embed_dim = c, .groups = g, .inner_dim = e, .output = OutputProjection::grouped}) ==
              3 * (e * c / g + e) + e * c / g + c);
        const Options shared{.embed_dim = c, .num_heads = 8, .groups = g, .num_kv_heads = 4, .inner_dim = e};
        CHECK(count(shared) == (e * c / g + e) + 2 * (e / 2 * c / g + e / 2) + e * c + c);
        Options more = shared;
        more.norm = ProjectionNorm::per_group;
        CHECK(count(more) == count(shared) + 2 * (e + e / 2));
        more.scale = AttentionScale::learned;
        CHECK(count(more) == count(shared) + 2 * (e + e / 2) + 8);
      }
  CHECK(count({.embed_dim = 64, .head_mode = HeadMode::literal, .output = OutputProjection::none}) ==
        3 * 64 * 64 / 4 + 3 * 64);
  // Inner width e = 4 G / (G + 3) gives the standard layer's matrices: 5/2 at G = 5.
  CHECK(count({.embed_dim = 80, .groups = 5, .inner_dim = 200, .bias = false}) == 4 * 80 * 80);
}

TEST_CASE("grouped attention: gradients of x and of every parameter, option by option") {
  const Options base{.embed_dim = 8, .num_heads = 4, .groups = 2};
  std::vector<std::pair<const char*, Options>> cases;
  const auto add_case = [&](const char* name, auto change) {
    Options o = base;
    change(o);
    cases.emplace_back(name, o);
  };
  add_case("literal", [](Options& o) { o.head_mode = HeadMode::literal; });
  add_case("num_kv_heads", [](Options& o) { o.num_kv_heads = 2; });
  add_case("inner_dim", [](Options& o) { o.inner_dim = 16, o.output = OutputProjection::grouped; });
  add_case("learned", [](Options& o) { o.scale = AttentionScale::learned; });
  add_case("per_group", [](Options& o) { o.norm = ProjectionNorm::per_group; });
  add_case("full", [](Options& o) { o.norm = ProjectionNorm::full, o.num_kv_heads = 2; });
  add_case("group_dropout", [](Options& o) { o.group_dropout.rates = {0.2, 0.5}; });
  add_case("whole groups", [](Options& o) { o.group_dropout = {.rates = {0.2, 0.5}, .whole_groups = true}; });
  for (const auto& [name, o] : cases) {
    INFO(name);
    GroupedMultiHeadAttention layer = random_layer(o, 2);
    CHECK(gradcheck_module(layer,
                           [&](const std::vector<Tensor>& x) {
                             manual_seed(3);  // the same groups dropped every time
                             return layer(x[0], {.causal = true});
                           },
                           {leaf({2, 3, 8}, 5)}));
  }
}

TEST_CASE("grouped attention: one sequence without a batch, evaluation, half precision, masks") {
  for (const Options& o :
       {Options{.embed_dim = 16, .num_heads = 4, .groups = 4, .num_kv_heads = 1, .inner_dim = 32},
        Options{.embed_dim = 16, .norm = ProjectionNorm::per_group},
        Options{.embed_dim = 16, .scale = AttentionScale::learned, .norm = ProjectionNorm::full},
        Options{
            .embed_dim = 16, .dropout = 0.2, .group_dropout = {.rates = {0.1, 0.2, 0.3, 0.4}, .whole_groups = true}}}) {
    manual_seed(5);
    GroupedMultiHeadAttention layer(o);
    layer.eval();
    const Tensor x = random_tensor({3, 6, 16}, DType::float32, 1);
    const Tensor whole = layer(x).detach();
    check_identical(layer(x).detach(), whole);  // nothing is dropped
    for (int64_t b = 0; b < 3; ++b) check_close(layer(select(x, 0, b)).detach(), Array(select(whole, 0, b)), 1e-6);
    CHECK(layer(zeros({0, 6, 16})).shape() == Dims{0, 6, 16});
    const Tensor lower = to(tril(ones({6, 6})), DType::boolean);
    check_close(layer(x, {.mask = lower}).detach(), Array(layer(x, {.causal = true}).detach()), 1e-6);
    layer.to(DType::bfloat16);
    check_close(to(layer(to(x, DType::bfloat16)), DType::float32).detach(), Array(whole), 0.03);
  }
}

TEST_CASE("grouped attention: whole groups of a sample are dropped in training") {
  GroupedMultiHeadAttention layer = random_layer(
      {.embed_dim = 16, .output = OutputProjection::none, .group_dropout = {.rates = {0.5}, .whole_groups = true}}, 7);
  const Tensor x = random_tensor({40, 3, 16}, DType::float64, 1);
  const Tensor y = reshape(layer(x), {40, 3, 4, 4}).detach();
  layer.eval();
  const Tensor all = reshape(layer(x), {40, 3, 4, 4}).detach();
  const double kept = 0.5 / (1 - std::pow(0.5, 4));
  int dropped = 0;
  for (int64_t b = 0; b < 40; ++b)
    for (int64_t g = 0; g < 4; ++g) {
      const Tensor got = select(select(y, 0, b), 1, g), want = select(select(all, 0, b), 1, g);
      const bool gone = max(abs(got)).item() == 0;
      dropped += gone;
      check_close(got, Array(mul(want, gone ? 0 : 1 / kept)), 1e-12);
    }
  CHECK(dropped > 40);
  CHECK(dropped < 110);
}
