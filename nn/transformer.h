// Transformer blocks with either attention, and a stack of them.
#pragma once
#include "tutti/nn/attention/grouped_attention.h"
#include "tutti/nn/attention/multi_head_attention.h"
#include "tutti/nn/dropout.h"
#include "tutti/nn/feed_forward.h"
#include "tutti/nn/normalization.h"

#pragma GCC visibility push(default)
namespace tutti::nn {

/// Which attention layer a block has: its options say.
using AttentionSpec = std::variant<MultiHeadAttentionOptions, GroupedMultiHeadAttentionOptions>;
inline AttentionSpec standard(MultiHeadAttentionOptions options) { return options; }
inline AttentionSpec grouped(GroupedMultiHeadAttentionOptions options) { return options; }

/// A block's width, attention and order.
struct TransformerBlockOptions {
  int64_t embed_dim = 0;
  AttentionSpec attention = MultiHeadAttentionOptions{};
  int64_t hidden = 0;                        ///< of the feed-forward; 0: 4 embed_dim
  bool norm_first = true;                    ///< x + f(norm(x)), else norm(x + f(x))
  double dropout = 0;                        ///< of both residual branches
  Activation activation = Activation::gelu;  ///< of the feed-forward
  bool gated = false;                        ///< so is the feed-forward (FeedForwardOptions)
  bool bias = true;                          ///< of the feed-forward and the norms; the attention's is its own option
  NormKind norm = NormKind::layer;
  double norm_eps = 1e-5;
};
/// Attention and feed-forward, each with a norm and a residual branch (Vaswani et al. 2017). ValueError naming the
/// option that does not fit.
class TransformerBlock : public CallableWith<TransformerBlock, AttentionOptions> {
 public:
  explicit TransformerBlock(TransformerBlockOptions options);
  void children(Visitor& visit) override;
  /// x [B, T, C] to the same shape; options: mask, causal, window, layout.
  Tensor forward(const Tensor& x, const AttentionOptions& options = {});
  /// x's tokens come after those in the cache, as in the attention layer.
  Tensor forward(const Tensor& x, KVCache& cache, const AttentionOptions& options = {});
  Norm norm1, norm2;
  std::variant<MultiHeadAttention, GroupedMultiHeadAttention> attention;
  FeedForward ffn;
  Dropout dropout;
  const TransformerBlockOptions& options() const { return options_; }

 private:
  template <class Attend>
  Tensor body(const Tensor& x, const Attend& attend);
  TransformerBlockOptions options_;
};

/// How many blocks of what kind.
struct TransformerEncoderOptions {
  TransformerBlockOptions block{};
  int64_t layers = 1;
  bool final_norm = true;  ///< one more norm, of the blocks' kind, after the last block
};
/// Blocks in a row, each with its own weights. x [B, T, C] to the same shape; options are passed to every block.
class TransformerEncoder : public CallableWith<TransformerEncoder, AttentionOptions> {
 public:
  explicit TransformerEncoder(TransformerEncoderOptions options);
  void children(Visitor& visit) override;
  Tensor forward(const Tensor& x, const AttentionOptions& options = {});
  /// The same with a cache for each block, made by `std::vector<nn::KVCache> caches(blocks.size(), nn::KVCache(256))`.
  /// ValueError if there are more or fewer, or if they do not hold equally many tokens.
  Tensor forward(const Tensor& x, std::vector<KVCache>& caches, const AttentionOptions& options = {});
  std::vector<TransformerBlock> blocks;
  std::optional<Norm> norm;
};

}  // namespace tutti::nn
#pragma GCC visibility pop
