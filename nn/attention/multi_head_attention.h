// The standard layer: multi-head self-attention (Vaswani et al. 2017).
#pragma once
#include <optional>

#include "tutti/nn/attention/kv_cache.h"
#include "tutti/nn/attention/rotary.h"
#include "tutti/nn/attention/self_attention.h"
#include "tutti/nn/linear.h"

#pragma GCC visibility push(default)
namespace tutti::nn {

struct MultiHeadAttentionOptions {
  int64_t embed_dim = 0;  ///< C; 0 inside a TransformerBlock means the block's
  int64_t num_heads = 1;  ///< H, divides C; head width d = C / H
  bool bias = true;
  double dropout = 0;                     ///< of attention weights, in training
  int64_t num_kv_heads = 0;               ///< Hk, divides H: head h of q uses head h / (H/Hk) of k and v; 0: H
  std::optional<RotaryOptions> rotary{};  ///< q and k are turned by their positions
};

/// softmax(q k^T / sqrt(d)) v over H heads with a dense output projection: 4 C^2 + 4 C parameters. q, k and v are one
/// weight [3 C, C], each third Xavier-uniform on its own (bound sqrt(3 / C)); biases 0. With fewer heads of k and v
/// (grouped-query attention, Ainslie et al. 2023) it is [C + 2 Hk d, C].
class MultiHeadAttention : public CallableWith<MultiHeadAttention, AttentionOptions> {
 public:
  explicit MultiHeadAttention(MultiHeadAttentionOptions options);
  void children(Visitor& visit) override;
  /// x [B, T, C] (or [T, C]) to the same shape. options: mask, causal, window, layout; dropout and scale are
  /// the layer's.
  Tensor forward(const Tensor& x, const AttentionOptions& options = {});
  /// x's tokens come after those in the cache, which they see, and join them there. Always causal. A mask is broadcast
  /// to [B, H, T, tokens in the cache + T]; no layout. Errors of KVCache::append.
  Tensor forward(const Tensor& x, KVCache& cache, const AttentionOptions& options = {});
  /// q, k and v of x, whose first token is at position `first` (which only rotary positions need).
  QueryKeyValue project(const Tensor& x, int64_t first = 0) const;
  const MultiHeadAttentionOptions& options() const { return options_; }
  Linear qkv, out;

 private:
  double scale() const;    // of the scores
  double dropout() const;  // of this call
  MultiHeadAttentionOptions options_;
};

}  // namespace tutti::nn
#pragma GCC visibility pop
