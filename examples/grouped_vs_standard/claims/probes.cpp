#include "grouped_vs_standard/claims/probes.h"

#include <cmath>

#include "tutti/nn/attention/self_attention.h"

namespace comparison {

using namespace tutti;
using examples::Block;
using nn::GroupedMultiHeadAttention;
using nn::MultiHeadAttention;

namespace {

[[noreturn]] void no_probe() {
  throw ValueError("probe: the attention layer must be standard or grouped, with static groups and no cascade");
}

Tensor softmaxed(nn::QueryKeyValue x, double scale) {
  x.unpack();
  return softmax(
      matmul(nn::split_heads(x.q, x.num_heads), transpose(nn::split_heads(x.k, x.num_heads), -1, -2)) * scale, -1);
}

nn::Linear& output_of(Block& block) {
  if (auto* standard = std::get_if<MultiHeadAttention>(&block.attention)) return standard->out;
  if (auto* grouped = std::get_if<GroupedMultiHeadAttention>(&block.attention))
    if (auto* dense = std::get_if<nn::Linear>(&grouped->out)) return *dense;
  throw ValueError("ablation_damage: the attention layer has no dense output projection");
}

/// Percent of each class that is right.
std::vector<double> by_class(const std::vector<uint8_t>& correct, const std::vector<int64_t>& labels, int64_t classes) {
  std::vector<double> right(static_cast<size_t>(classes)), all(static_cast<size_t>(classes));
  for (size_t i = 0; i < correct.size(); ++i) {
    right[static_cast<size_t>(labels[i])] += correct[i];
    all[static_cast<size_t>(labels[i])] += 1;
  }
  for (size_t c = 0; c < right.size(); ++c) right[c] = all[c] > 0 ? 100 * right[c] / all[c] : 0;
  return right;
}

/// The gradient of q, k and v by part, [parts, numbers].
Tensor gradient_by_part(Block& block) {
  const int64_t parts = parts_of(block);
  Tensor gradient;
  if (auto* standard = std::get_if<MultiHeadAttention>(&block.attention))
    gradient = standard->qkv.weight.tensor().grad();
  else
    gradient = std::get<GroupedMultiHeadAttention>(block.attention).weight.tensor().grad();
  return reshape(transpose(reshape(gradient, {3, parts, gradient.numel() / (3 * parts)}), 0, 1),
                 {parts, gradient.numel() / parts});
}

}  // namespace

std::vector<Tensor> states(examples::Classifier& model, const Tensor& tokens) {
  std::vector<Tensor> list{model.embedded(tokens)};
  for (Block& block : model.blocks) list.push_back(block(list.back()));
  return list;
}

Seen look(Block& block, const Tensor& x) {
  const Tensor normed = block.norm1(x);
  if (auto* standard = std::get_if<MultiHeadAttention>(&block.attention)) {
    const int64_t heads = standard->options().num_heads;
    const double scale = 1 / std::sqrt(static_cast<double>(standard->options().embed_dim / heads));
    const nn::QueryKeyValue qkv{.packed = standard->qkv(normed), .num_heads = heads, .num_kv_heads = heads};
    return {softmaxed(qkv, scale), nn::self_attention(qkv, scale, 0, {})};
  }
  auto* grouped = std::get_if<GroupedMultiHeadAttention>(&block.attention);
  if (!grouped || grouped->dynamic || grouped->head_scale.defined()) no_probe();
  std::vector<nn::QueryKeyValue> seen;
  const Tensor context = grouped->context(normed, {}, &seen);
  if (seen.size() != 1 || seen[0].num_kv_heads != seen[0].num_heads) no_probe();
  return {softmaxed(seen[0], grouped->score_scale()), context};
}

double attention_distance(const Tensor& weights, bool grid) {
  const int64_t tokens = weights.size(-1), side = grid ? std::llround(std::sqrt(static_cast<double>(tokens))) : 1;
  if (grid && side * side != tokens)
    throw ValueError(message("attention_distance: ", tokens, " tokens are no square grid"));
  const auto w = mean(weights, {0, 1}).to_vector<float>();
  double sum = 0;
  for (int64_t q = 0; q < tokens; ++q)
    for (int64_t k = 0; k < tokens; ++k) {
      const auto along = static_cast<double>(q / side - k / side), across = static_cast<double>(q % side - k % side);
      sum += static_cast<double>(w[static_cast<size_t>(q * tokens + k)]) * std::hypot(along, across);
    }
  return sum / static_cast<double>(tokens);
}

int64_t parts_of(const Block& block) {
  if (const auto* standard = std::get_if<MultiHeadAttention>(&block.attention)) return standard->options().num_heads;
  if (const auto* grouped = std::get_if<GroupedMultiHeadAttention>(&block.attention); grouped && !grouped->dynamic)
    return grouped->options().groups;
  no_probe();
}

std::vector<std::vector<std::vector<double>>> ablation_damage(examples::Classifier& model, const Task& task,
                                                              const Split& test, int64_t items) {
  const no_grad off;
  model.eval();
  const auto labels = test.y.to_vector<int64_t>();
  const auto accuracy = [&] { return by_class(evaluate(model, task, test, items), labels, task.classes); };
  const std::vector<double> whole = accuracy();
  const std::vector<Tensor> fed = states(model, task.tokens_of(slice(test.x, 0, 0, items), /*training=*/false));
  std::vector<std::vector<std::vector<double>>> damage;
  for (size_t layer = 0; layer < model.blocks.size(); ++layer) {
    Block& block = model.blocks[layer];
    nn::Linear& out = output_of(block);
    const Tensor usual = mean(look(block, fed[layer]).context, {0, 1});  // [E]
    const Tensor weight = out.weight.tensor().detach(), bias = out.bias.tensor().detach();
    const Tensor kept_weight = clone(weight), kept_bias = clone(bias);
    const int64_t parts = parts_of(block), width = usual.size(0) / parts;
    damage.emplace_back();
    for (int64_t part = 0; part < parts; ++part) {
      const int64_t from = part * width, to = from + width;
      const Tensor columns = slice(weight, 1, from, to);
      copy_(bias, kept_bias + sum(columns * slice(usual, 0, from, to), 1));
      copy_(columns, zeros(columns.shape()));
      std::vector<double> lost = accuracy();
      for (size_t c = 0; c < lost.size(); ++c) lost[c] = whole[c] - lost[c];
      damage.back().push_back(lost);
      copy_(weight, kept_weight);
      copy_(bias, kept_bias);
    }
  }
  return damage;
}

double half_class_cosine(examples::Classifier& model, const Task& task, const Split& train) {
  model.eval();
  const auto labels = train.y.to_vector<int64_t>();
  std::vector<Tensor> gradients[2];
  for (int64_t half = 0; half < 2; ++half) {
    std::vector<int64_t> rows;
    for (size_t i = 0; i < labels.size(); ++i)
      if ((2 * labels[i] >= task.classes) == (half == 1)) rows.push_back(static_cast<int64_t>(i));
    const Tensor which = Tensor::from(rows, {static_cast<int64_t>(rows.size())});
    const Tensor tokens = task.tokens_of(index_select(train.x, 0, which), /*training=*/false);
    model.zero_grad();
    cross_entropy(model(tokens), index_select(train.y, 0, which)).backward();
    for (Block& block : model.blocks) gradients[half].push_back(gradient_by_part(block));
  }
  model.zero_grad();
  const no_grad off;
  double total = 0;
  for (size_t layer = 0; layer < gradients[0].size(); ++layer) {
    const Tensor &a = gradients[0][layer], &b = gradients[1][layer];
    total += mean(sum(a * b, 1) / sqrt(sum(square(a), 1) * sum(square(b), 1))).item();
  }
  return total / static_cast<double>(gradients[0].size());
}

}  // namespace comparison
