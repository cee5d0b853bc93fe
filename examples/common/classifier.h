// The model of the benchmarks: a transformer encoder over tokens with a classification head, with any of the three
// attention layers. The same architecture as a PyTorch user would write for the article's comparison.
#pragma once
#include <string>
#include <variant>

#include "common/looped_attention.h"
#include "tutti/tutti.h"

namespace examples {

enum class Kind { standard, looped, grouped };
Kind kind_from(const std::string& name);  ///< ValueError naming the three

struct ClassifierOptions {
  Kind kind = Kind::standard;
  int64_t inputs = 16, tokens = 49, dim = 128, heads = 4, groups = 4, layers = 4, classes = 10;
  std::vector<int64_t> hidden{};  ///< feed-forward width of each layer
};

/// Pre-norm block as nn::TransformerBlock, whose attention may also be the looped one.
class Block : public tutti::nn::Callable<Block> {
 public:
  Block(const ClassifierOptions& options, int64_t hidden);
  void children(tutti::nn::Visitor& visit) override;
  tutti::Tensor forward(const tutti::Tensor& x);

  tutti::nn::LayerNorm norm1, norm2;
  std::variant<tutti::nn::MultiHeadAttention, tutti::nn::GroupedMultiHeadAttention, LoopedAttention> attention;
  tutti::nn::FeedForward ffn;
};

/// Linear embedding plus learned positions, blocks, LayerNorm, mean over tokens, Linear head: [B, tokens, inputs] to
/// logits [B, classes].
class Classifier : public tutti::nn::Callable<Classifier> {
 public:
  explicit Classifier(const ClassifierOptions& options);
  void children(tutti::nn::Visitor& visit) override;
  tutti::Tensor forward(const tutti::Tensor& x);

  tutti::nn::Linear embed;
  tutti::nn::Parameter position;
  std::vector<Block> blocks;
  tutti::nn::LayerNorm norm;
  tutti::nn::Linear head;
};

}  // namespace examples
