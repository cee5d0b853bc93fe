// Grouped layers to test with, in float64.
#pragma once
#include "support/op_test.h"
#include "tutti/autograd/node.h"
#include "tutti/core/generator.h"
#include "tutti/nn/attention/grouped_attention.h"
#include "tutti/ops/arithmetic.h"
#include "tutti/ops/copy.h"
#include "tutti/ops/reduce.h"
#include "tutti/ops/shape.h"
#include "tutti/ops/unary.h"

namespace tutti_test {

using tutti::nn::AttentionScale;
using tutti::nn::GroupedMultiHeadAttention;
using tutti::nn::GroupExchange;
using tutti::nn::HeadMode;
using tutti::nn::OutputProjection;
using tutti::nn::ProjectionNorm;
using Options = tutti::nn::GroupedMultiHeadAttentionOptions;

inline tutti::Tensor values(const tutti::Dims& shape, uint64_t seed) {
  return random_tensor(shape, tutti::DType::float64, seed);
}
inline tutti::Tensor leaf(const tutti::Dims& shape, uint64_t seed) { return values(shape, seed).requires_grad_(); }

/// In float64, as the library starts it.
inline GroupedMultiHeadAttention started_layer(Options options, uint64_t seed) {
  tutti::manual_seed(seed);
  GroupedMultiHeadAttention layer(std::move(options));
  layer.to(tutti::DType::float64);
  return layer;
}

/// In float64, with every parameter random (biases and norms too), so that none is tested at 0 or 1 only.
inline GroupedMultiHeadAttention random_layer(const Options& o, uint64_t seed) {
  tutti::manual_seed(seed);
  GroupedMultiHeadAttention layer(o);
  layer.to(tutti::DType::float64);
  uint64_t i = 100 * seed;
  for (const auto& p : layer.parameters()) {
    const tutti::no_grad off;
    copy_(p, add(p, random_tensor(p.shape(), tutti::DType::float64, ++i, -0.3, 0.3)));
  }
  return layer;
}

/// How far group `to` of the result depends on each group of input channels: |gradient|, summed. Exactly 0 where it
/// does not.
inline std::vector<double> reach(GroupedMultiHeadAttention& layer, int64_t to) {
  const int64_t groups = layer.options().groups, c = layer.options().embed_dim, g = c / groups;
  const tutti::Tensor x = leaf({2, 5, c}, 3);
  const tutti::Tensor part = slice(layer(x), 2, to * g, (to + 1) * g);
  part.backward(values(part.shape(), 4));
  std::vector<double> sums;
  for (int64_t i = 0; i < groups; ++i) sums.push_back(sum(abs(slice(x.grad(), 2, i * g, (i + 1) * g))).item());
  return sums;
}
/// Which groups of input channels group `to` of the result sees.
inline std::vector<bool> seen_by(GroupedMultiHeadAttention& layer, int64_t to) {
  std::vector<bool> seen;
  for (double sum : reach(layer, to)) seen.push_back(sum > 0);
  return seen;
}

}  // namespace tutti_test
