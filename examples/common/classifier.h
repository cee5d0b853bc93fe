// The model of the benchmarks: a transformer encoder over tokens with a classification head, with any of the attention
// layers. The same architecture as a PyTorch user would write for the article's comparison.
#pragma once
#include <string>
#include <variant>

#include "common/attention.h"

namespace examples {

enum class Embedding {
  linear,    ///< tokens are vectors, mapped to the model's width
  identity,  ///< tokens are vectors of the model's width already
  symbols,   ///< tokens are integers, looked up in a table
  halves,    ///< the first `first_inputs` inputs are mapped to the first half of the channels, the others to the second
  interleaved,  ///< the same with the halves' channels in turns: 0 of the first, 0 of the second, 1 of the first, ...
};
enum class Readout { mean, first };  ///< what the head sees: the mean token, or the first

struct ClassifierOptions {
  AttentionChoice attention{};
  int64_t inputs = 16, tokens = 49, dim = 128, layers = 4, classes = 10;
  std::vector<int64_t> hidden{};  ///< feed-forward width of each layer
  Embedding embedding = Embedding::linear;
  int64_t symbols = 0;       ///< size of the table
  int64_t first_inputs = 0;  ///< of halves and interleaved: inputs of the first modality
  Readout readout = Readout::mean;
  bool xavier = false;  ///< every linear map starts Xavier-uniform with bias 0, instead of as in PyTorch
};

/// Two modalities side by side in a token, each mapped to its own half of the channels (see Embedding): [.., inputs] to
/// [.., dim].
class TwoPartEmbedding : public tutti::nn::Callable<TwoPartEmbedding> {
 public:
  /// ValueError unless dim is even and 0 < first_inputs < inputs.
  explicit TwoPartEmbedding(const ClassifierOptions& options);
  void children(tutti::nn::Visitor& visit) override;
  tutti::Tensor forward(const tutti::Tensor& x);

  tutti::nn::Linear first, second;

 private:
  int64_t first_inputs_;
  bool interleaved_;
};

/// Pre-norm block as nn::TransformerBlock, but with any of the layers.
class Block : public tutti::nn::Callable<Block> {
 public:
  Block(const ClassifierOptions& options, int64_t hidden);
  void children(tutti::nn::Visitor& visit) override;
  tutti::Tensor forward(const tutti::Tensor& x);

  tutti::nn::LayerNorm norm1, norm2;
  AttentionLayer attention;
  tutti::nn::FeedForward ffn;
};

/// Embedding plus learned positions N(0, .02), blocks, readout, LayerNorm, Linear head: [B, tokens, inputs] (or
/// [B, tokens] of symbols) to logits [B, classes].
class Classifier : public tutti::nn::Callable<Classifier> {
 public:
  explicit Classifier(const ClassifierOptions& options);
  void children(tutti::nn::Visitor& visit) override;
  tutti::Tensor forward(const tutti::Tensor& x);
  tutti::Tensor embedded(const tutti::Tensor& x);            ///< what the first block sees, [B, tokens, dim]
  tutti::Tensor classify(const tutti::Tensor& last_tokens);  ///< readout, norm and head

  std::variant<std::monostate, tutti::nn::Linear, tutti::nn::Embedding, TwoPartEmbedding> embed;
  tutti::nn::Parameter position;
  std::vector<Block> blocks;
  tutti::nn::LayerNorm norm;
  tutti::nn::Linear head;

 private:
  Readout readout_;
};

}  // namespace examples
