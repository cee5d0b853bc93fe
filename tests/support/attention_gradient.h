// Attention's gradient from its weights alone.
#pragma once
#include <cmath>

#include "tutti/core/tensor.h"
#include "tutti/ops/arithmetic.h"
#include "tutti/ops/attention.h"
#include "tutti/ops/copy.h"
#include "tutti/ops/create.h"
#include "tutti/ops/index.h"
#include "tutti/ops/matmul.h"
#include "tutti/ops/reduce.h"
#include "tutti/ops/shape.h"

namespace tutti_test {

/// Of q, k, v [B, H, T, D] for dy, in float64: with P the weights that the fused forward gives (its result for v = I),
/// dS = P (dP - sum P dP), without a softmax of its own, which the most negative masks could lead astray.
inline std::vector<tutti::Tensor> gradient_by_weights(const std::vector<tutti::Tensor>& qkv, const tutti::Tensor& dy,
                                                      const tutti::AttentionOptions& options) {
  using namespace tutti;
  const auto wide = [](const Tensor& x) { return to(x.detach(), DType::float64); };
  const auto turned = [](const Tensor& x) { return transpose(x, -1, -2); };
  const Tensor q = wide(qkv[0]), k = wide(qkv[1]), v = wide(qkv[2]), d = wide(dy);
  const int64_t tokens = k.size(2);
  const Tensor identity = expand(eye(tokens, {qkv[0].dtype()}), {k.size(0), k.size(1), tokens, tokens});
  const Tensor p = wide(scaled_dot_product_attention(qkv[0].detach(), qkv[1].detach(), identity, options));
  const Tensor dp = matmul(d, turned(v)), ds = p * (dp - sum(dp * p, -1, true));
  const double scale = options.scale != 0 ? options.scale : 1 / std::sqrt(static_cast<double>(q.size(3)));
  return {matmul(ds, k) * scale, matmul(turned(ds), q) * scale, matmul(turned(p), d)};
}

}  // namespace tutti_test
