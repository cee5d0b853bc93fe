#include "common/classifier.h"

namespace examples {

using namespace tutti;

namespace {

Tensor learned_positions(const ClassifierOptions& o) {
  Tensor x = empty({o.tokens, o.dim});
  nn::init::normal_(x, 0, 0.02);
  return x;
}

const ClassifierOptions& checked_parts(const ClassifierOptions& o) {
  if (o.dim % 2 != 0) throw ValueError(message("Classifier: dim = ", o.dim, " has no halves; an even one fits"));
  if (o.first_inputs < 1 || o.first_inputs >= o.inputs)
    throw ValueError(message("Classifier: first_inputs is ", o.first_inputs, "; of ", o.inputs,
                             " inputs in two parts it is 1 to ", o.inputs - 1));
  return o;
}

std::variant<std::monostate, nn::Linear, nn::Embedding, TwoPartEmbedding> make_embedding(const ClassifierOptions& o) {
  if (o.embedding == Embedding::linear) return nn::Linear({.in = o.inputs, .out = o.dim});
  if (o.embedding == Embedding::symbols) return nn::Embedding({.count = o.symbols, .width = o.dim});
  if (o.embedding == Embedding::halves || o.embedding == Embedding::interleaved) return TwoPartEmbedding(o);
  if (o.inputs != o.dim)
    throw ValueError(message("Classifier: without an embedding, inputs = ", o.inputs, " must be dim = ", o.dim));
  return std::monostate{};
}

void start_xavier(nn::Linear& layer) {
  nn::init::xavier_uniform_(layer.weight);
  nn::init::zeros_(layer.bias);
}

}  // namespace

TwoPartEmbedding::TwoPartEmbedding(const ClassifierOptions& o)
    : first({.in = checked_parts(o).first_inputs, .out = o.dim / 2}),
      second({.in = o.inputs - o.first_inputs, .out = o.dim / 2}),
      first_inputs_(o.first_inputs),
      interleaved_(o.embedding == Embedding::interleaved) {}

void TwoPartEmbedding::children(nn::Visitor& visit) {
  visit("first", first);
  visit("second", second);
}

Tensor TwoPartEmbedding::forward(const Tensor& x) {
  const Tensor a = first(slice(x, -1, 0, first_inputs_)), b = second(slice(x, -1, first_inputs_, x.size(-1)));
  const Tensor halves = cat({a, b}, -1);
  if (!interleaved_) return halves;
  Dims parts = halves.shape();
  parts[parts.n - 1] = 2;
  parts.push(a.size(-1));
  return reshape(transpose(reshape(halves, parts), -1, -2), halves.shape());
}

Block::Block(const ClassifierOptions& o, int64_t hidden)
    : norm1({.width = o.dim}),
      norm2({.width = o.dim}),
      attention(make_attention(o.attention, o.dim)),
      ffn({.embed_dim = o.dim, .hidden = hidden}) {}

void Block::children(nn::Visitor& visit) {
  visit("norm1", norm1);
  visit("attention", attention);
  visit("norm2", norm2);
  visit("ffn", ffn);
}

Tensor Block::forward(const Tensor& x) {
  const Tensor y = x + std::visit([&](auto& layer) -> Tensor { return layer(norm1(x)); }, attention);
  return y + ffn(norm2(y));
}

Classifier::Classifier(const ClassifierOptions& o)
    : embed(make_embedding(o)),
      position(learned_positions(o)),
      norm({.width = o.dim}),
      head({.in = o.dim, .out = o.classes}),
      readout_(o.readout) {
  if (static_cast<int64_t>(o.hidden.size()) != o.layers)
    throw ValueError(message("Classifier: ", o.hidden.size(), " feed-forward widths for ", o.layers, " layers"));
  for (int64_t hidden : o.hidden) blocks.emplace_back(o, hidden);
  if (!o.xavier) return;
  const no_grad off;
  if (auto* linear = std::get_if<nn::Linear>(&embed)) start_xavier(*linear);
  if (auto* parts = std::get_if<TwoPartEmbedding>(&embed)) start_xavier(parts->first), start_xavier(parts->second);
  for (Block& block : blocks) start_xavier(block.ffn.up), start_xavier(block.ffn.down);
  start_xavier(head);
}

void Classifier::children(nn::Visitor& visit) {
  visit("embed", embed);
  visit("position", position);
  visit("blocks", blocks);
  visit("norm", norm);
  visit("head", head);
}

Tensor Classifier::embedded(const Tensor& x) {
  if (auto* linear = std::get_if<nn::Linear>(&embed)) return (*linear)(x) + position;
  if (auto* table = std::get_if<nn::Embedding>(&embed)) return (*table)(x) + position;
  if (auto* parts = std::get_if<TwoPartEmbedding>(&embed)) return (*parts)(x) + position;
  return x + position;
}

Tensor Classifier::classify(const Tensor& tokens) {
  if (readout_ == Readout::first) return head(norm(select(tokens, 1, 0)));
  return head(mean(norm(tokens), 1));
}

Tensor Classifier::forward(const Tensor& x) {
  Tensor h = embedded(x);
  for (Block& block : blocks) h = block(h);
  return classify(h);
}

}  // namespace examples
