// The standard layer: multi-head self-attention (Vaswani et al. 2017).
#pragma once
#include "tutti/nn/linear.h"
#include "tutti/ops/attention.h"

#pragma GCC visibility push(default)
namespace tutti::nn {

struct MultiHeadAttentionOptions {
  int64_t embed_dim = 0;  ///< C; 0 inside a TransformerBlock means the block's
  int64_t num_heads = 1;  ///< H, divides C; head width d = C / H
  bool bias = true;
  double dropout = 0;  ///< of attention weights, in training
};

/// softmax(q k^T / sqrt(d)) v over H heads with a dense output projection: 4 C^2 + 4 C parameters. q, k and v are one
/// weight [3 C, C], each third Xavier-uniform on its own (bound sqrt(3 / C)); biases 0.
class MultiHeadAttention : public CallableWith<MultiHeadAttention, AttentionOptions> {
 public:
  explicit MultiHeadAttention(MultiHeadAttentionOptions options);
  void children(Visitor& visit) override;
  /// x [B, T, C] (or [T, C]) to the same shape. options: mask, causal, window, layout; dropout and scale are
  /// the layer's.
  Tensor forward(const Tensor& x, const AttentionOptions& options = {});
  const MultiHeadAttentionOptions& options() const { return options_; }
  Linear qkv, out;

 private:
  MultiHeadAttentionOptions options_;
};

}  // namespace tutti::nn
#pragma GCC visibility pop
