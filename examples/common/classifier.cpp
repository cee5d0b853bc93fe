#include "common/classifier.h"

namespace examples {

using namespace tutti;

Kind kind_from(const std::string& name) {
  if (name == "standard") return Kind::standard;
  if (name == "looped") return Kind::looped;
  if (name == "grouped") return Kind::grouped;
  throw ValueError("kind '" + name + "': expected standard, looped or grouped");
}

namespace {

std::variant<nn::MultiHeadAttention, nn::GroupedMultiHeadAttention, LoopedAttention> make_attention(
    const ClassifierOptions& o) {
  if (o.kind == Kind::standard) return nn::MultiHeadAttention({.embed_dim = o.dim, .num_heads = o.heads});
  if (o.kind == Kind::looped) return LoopedAttention({.dim = o.dim, .heads = o.heads, .groups = o.groups});
  return nn::GroupedMultiHeadAttention({.embed_dim = o.dim, .num_heads = o.heads, .groups = o.groups});
}

Tensor learned_positions(const ClassifierOptions& o) {
  Tensor x = empty({o.tokens, o.dim});
  nn::init::normal_(x, 0, 0.02);
  return x;
}

}  // namespace

Block::Block(const ClassifierOptions& o, int64_t hidden)
    : norm1({.width = o.dim}),
      norm2({.width = o.dim}),
      attention(make_attention(o)),
      ffn({.embed_dim = o.dim, .hidden = hidden}) {}

void Block::children(nn::Visitor& visit) {
  visit("norm1", norm1);
  std::visit([&](auto& layer) { visit("attention", layer); }, attention);
  visit("norm2", norm2);
  visit("ffn", ffn);
}

Tensor Block::forward(const Tensor& x) {
  const Tensor y = x + std::visit([&](auto& layer) { return layer(norm1(x)); }, attention);
  return y + ffn(norm2(y));
}

Classifier::Classifier(const ClassifierOptions& o)
    : embed({.in = o.inputs, .out = o.dim}),
      position(learned_positions(o)),
      norm({.width = o.dim}),
      head({.in = o.dim, .out = o.classes}) {
  if (static_cast<int64_t>(o.hidden.size()) != o.layers)
    throw ValueError(message("Classifier: ", o.hidden.size(), " feed-forward widths for ", o.layers, " layers"));
  for (int64_t hidden : o.hidden) blocks.emplace_back(o, hidden);
}

void Classifier::children(nn::Visitor& visit) {
  visit("embed", embed);
  visit("position", position);
  visit("blocks", blocks);
  visit("norm", norm);
  visit("head", head);
}

Tensor Classifier::forward(const Tensor& x) {
  Tensor h = embed(x) + position;
  for (Block& block : blocks) h = block(h);
  return head(mean(norm(h), 1));
}

}  // namespace examples
