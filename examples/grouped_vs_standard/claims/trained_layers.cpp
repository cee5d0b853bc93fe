#include "grouped_vs_standard/claims/trained_layers.h"

#include <algorithm>

namespace comparison {

using namespace tutti;

namespace {

nn::AttentionStats stats_of(const nn::MultiHeadAttention& layer, const Tensor& x) { return attention_stats(layer, x); }
nn::AttentionStats stats_of(const nn::GroupedMultiHeadAttention& layer, const Tensor& x) {
  return attention_stats(layer, x);
}
template <class Other>
nn::AttentionStats stats_of(const Other&, const Tensor&) {
  throw ValueError("trained_layers: expected the grouped or the standard layer");
}

nlohmann::json measure(const Setting& setting, uint64_t seed, int64_t steps) {
  Trained run = train(setting, seed, [&](int64_t step) { return steps < 0 || step < steps; });
  run.model->eval();
  const no_grad off;
  Tensor h = run.model->embedded(run.task->tokens_of(slice(run.data.test.x, 0, 0, 250), /*training=*/false));
  LayerStats s;
  for (examples::Block& block : run.model->blocks) {
    const Tensor x = block.norm1(h);
    const nn::AttentionStats own = std::visit([&](const auto& layer) { return stats_of(layer, x); }, block.attention);
    const auto [least, most] = std::minmax_element(own.context_variance.begin(), own.context_variance.end());
    s.layers += 1;
    s.flagged += own.warnings.empty() ? 0 : 1;
    s.groups += static_cast<double>(own.context_variance.size());
    s.dead += static_cast<double>(own.dead_groups.size());
    s.least_variance = std::min(s.least_variance, *most > 0 ? *least / *most : 0.0);
    s.spread += own.logit_spread;
    s.entropy += own.entropy;
    h = block(h);
  }
  return {{"layers", s.layers},
          {"flagged", s.flagged},
          {"groups", s.groups},
          {"dead", s.dead},
          {"least_variance", s.least_variance},
          {"spread", s.spread / s.layers},
          {"entropy", s.entropy / s.layers}};
}

}  // namespace

std::vector<LayerStats> trained_layers(Lab& lab, const Setting& setting, int64_t k, int64_t steps) {
  std::vector<LayerStats> all;
  for (int64_t i = 0; i < lab.seeds(k); ++i) {
    const auto seed = static_cast<uint64_t>(1 + i);
    Setting own = setting;
    own.model = completed(setting.model, *make_task(setting.task));
    const nlohmann::json key{{"setting", json_of(own)}, {"seed", seed}, {"steps", steps}};
    const auto j = lab.measure(
        "trained_layers", key, [=] { return measure(own, seed, steps); }, steps < 0 ? 5 : 2);
    all.push_back({number(j, "layers"), number(j, "flagged"), number(j, "groups"), number(j, "dead"),
                   number(j, "least_variance"), number(j, "spread"), number(j, "entropy")});
  }
  return all;
}

}  // namespace comparison
