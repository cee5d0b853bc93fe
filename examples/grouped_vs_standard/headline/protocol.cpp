#include "grouped_vs_standard/headline/protocol.h"

#include <algorithm>
#include <cmath>

#include "grouped_vs_standard/statistics/verdict.h"

namespace comparison {

std::vector<Arm> make_arms(const Protocol& p, Match match) {
  Setting setting{.task = {.name = "fashion",
                           .variant = p.augment ? "augmented" : "",
                           .train = p.training_images,
                           .test = p.test_images,
                           .patch = p.patch,
                           .validation = p.validation},
                  .model = {},
                  .training = {.steps = p.steps, .batch = p.batch, .lr = p.lr}};
  examples::ClassifierOptions standard{
      .attention = tutti::nn::MultiHeadAttentionOptions{.num_heads = p.heads}, .dim = p.dim, .layers = p.layers};
  standard.hidden.assign(static_cast<size_t>(p.layers), std::llround(p.ratio * static_cast<double>(p.dim)));
  standard = completed(standard, *make_task(setting.task));
  const auto models = match_arms(standard, {.num_heads = p.heads, .groups = p.groups}, match);
  std::vector<Arm> arms;
  for (size_t i = 0; i < 2; ++i) {
    setting.model = models[i];
    arms.push_back({i == 0 ? "standard" : "grouped", setting, cost_of(models[i])});
  }
  return arms;
}

std::string memory_verdict(double ratio) {
  constexpr double least = (Article::memory[1] - 5) / (Article::memory[0] + 5),
                   most = (Article::memory[1] + 5) / (Article::memory[0] - 5);
  return ratio_verdict({ratio, ratio, ratio}, std::clamp(ratio, least, most), "larger", "smaller");
}

double parameter_gap(const std::vector<Arm>& arms) {
  const auto standard = static_cast<double>(arms[0].cost.parameters);
  return std::abs(static_cast<double>(arms[1].cost.parameters) - standard) / standard;
}

}  // namespace comparison
