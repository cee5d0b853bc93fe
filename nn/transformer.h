// Transformer blocks with either attention, and a stack of them.
#pragma once
#include "tutti/nn/attention/grouped_attention.h"
#include "tutti/nn/attention/multi_head_attention.h"
#include "tutti/nn/dropout.h"
#include "tutti/nn/normalization.h"
#include "tutti/ops/activation.h"

#pragma GCC visibility push(default)
namespace tutti::nn {

/// Which attention layer a block has: its options say.
using AttentionSpec = std::variant<MultiHeadAttentionOptions, GroupedMultiHeadAttentionOptions>;
inline AttentionSpec standard(MultiHeadAttentionOptions options) { return options; }
inline AttentionSpec grouped(GroupedMultiHeadAttentionOptions options) { return options; }

/// Widths of a feed-forward, and the form of its GELU.
struct FeedForwardOptions {
  int64_t embed_dim = 0, hidden = 0;
  Gelu gelu = Gelu::erf;
};
/// Linear, GELU, Linear: x [.., embed_dim] to the same shape by way of `hidden`.
class FeedForward : public Callable<FeedForward> {
 public:
  explicit FeedForward(FeedForwardOptions options);
  void children(Visitor& visit) override;
  Tensor forward(const Tensor& x) const;
  Linear up, down;

 private:
  Gelu gelu_;
};

/// A block's width, attention and order.
struct TransformerBlockOptions {
  int64_t embed_dim = 0;
  AttentionSpec attention = MultiHeadAttentionOptions{};
  int64_t hidden = 0;      ///< of the feed-forward; 0: 4 embed_dim
  bool norm_first = true;  ///< x + f(norm(x)), else norm(x + f(x))
  double dropout = 0;      ///< of both residual branches
};
/// Attention and feed-forward, each with a LayerNorm and a residual branch (Vaswani et al. 2017). ValueError naming the
/// option that does not fit.
class TransformerBlock : public CallableWith<TransformerBlock, AttentionOptions> {
 public:
  explicit TransformerBlock(TransformerBlockOptions options);
  void children(Visitor& visit) override;
  /// x [B, T, C] to the same shape; options: mask, causal, window, layout.
  Tensor forward(const Tensor& x, const AttentionOptions& options = {});
  LayerNorm norm1, norm2;
  std::variant<MultiHeadAttention, GroupedMultiHeadAttention> attention;
  FeedForward ffn;
  Dropout dropout;

 private:
  bool norm_first_;
};

/// How many blocks of what kind.
struct TransformerEncoderOptions {
  TransformerBlockOptions block{};
  int64_t layers = 1;
  bool final_norm = true;  ///< a LayerNorm after the last block
};
/// Blocks in a row, each with its own weights. x [B, T, C] to the same shape; options are passed to every block.
class TransformerEncoder : public CallableWith<TransformerEncoder, AttentionOptions> {
 public:
  explicit TransformerEncoder(TransformerEncoderOptions options);
  void children(Visitor& visit) override;
  Tensor forward(const Tensor& x, const AttentionOptions& options = {});
  std::vector<TransformerBlock> blocks;
  std::optional<LayerNorm> norm;
};

}  // namespace tutti::nn
#pragma GCC visibility pop
