// Grouped layers to test with, in float64.
#pragma once
#include "support/op_test.h"
#include "tutti/autograd/node.h"
#include "tutti/core/generator.h"
#include "tutti/nn/attention/grouped_attention.h"
#include "tutti/ops/arithmetic.h"
#include "tutti/ops/copy.h"

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

}  // namespace tutti_test
