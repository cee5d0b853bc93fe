// The grouped layer's options against a plain composition with dense, block-diagonal weights, in float64: forward and
// every gradient.
#include "tutti/nn/grouped_attention.h"

#include <cmath>

#include "support/op_test.h"
#include "tutti/autograd/gradcheck.h"
#include "tutti/autograd/node.h"
#include "tutti/core/error.h"
#include "tutti/nn/init.h"
#include "tutti/ops/arithmetic.h"
#include "tutti/ops/copy.h"
#include "tutti/ops/create.h"
#include "tutti/ops/join.h"
#include "tutti/ops/linear.h"
#include "tutti/ops/matmul.h"
#include "tutti/ops/reduce.h"
#include "tutti/ops/shape.h"
#include "tutti/ops/softmax.h"

using namespace tutti;
using namespace tutti_test;
using nn::AttentionScale;
using nn::GroupedMultiHeadAttention;
using nn::HeadMode;
using nn::OutputProjection;
using nn::ProjectionNorm;
using Options = nn::GroupedMultiHeadAttentionOptions;

namespace {

Tensor leaf(const Dims& shape, uint64_t seed) { return random_tensor(shape, DType::float64, seed).requires_grad_(); }

/// In float64, with every parameter random (biases and norms too), so that none is tested at 0 or 1 only.
GroupedMultiHeadAttention random_layer(const Options& o, uint64_t seed) {
  manual_seed(seed);
  GroupedMultiHeadAttention layer(o);
  layer.to(DType::float64);
  uint64_t i = 100 * seed;
  for (const auto& p : layer.parameters()) {
    const no_grad off;
    copy_(p, add(p, random_tensor(p.shape(), DType::float64, ++i, -0.3, 0.3)));
  }
  return layer;
}

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
          INFO("inner " << inner << ", heads " << heads << ", kv heads " << kv_heads << ", output "
                        << name_of(output));
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
