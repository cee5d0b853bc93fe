#include "grouped_vs_standard/claims/trained_probe.h"

#include <cmath>

#include "grouped_vs_standard/claims/probes.h"
#include "grouped_vs_standard/claims/representation.h"
#include "grouped_vs_standard/statistics/moments.h"

namespace comparison {

using namespace tutti;
using nlohmann::json;

namespace {

constexpr int64_t few = 1000, more = 2000;

/// The first `items` samples as mean tokens of every block's output: [layer] of [items, C].
std::vector<Tensor> mean_tokens(Trained& run, const Split& split, int64_t items) {
  std::vector<Tensor> list;
  const auto all = states(*run.model, run.task->tokens_of(slice(split.x, 0, 0, items), /*training=*/false));
  for (size_t i = 1; i < all.size(); ++i) list.push_back(mean(all[i], 1));
  return list;
}

/// Mean linear CKA between every two of the parts that lie side by side.
double mean_cka(const Tensor& context, int64_t parts) {
  const Tensor rows = reshape(context, {context.numel() / context.size(-1), context.size(-1)});
  const auto pieces = chunk(rows, parts, 1);
  double total = 0;
  int64_t pairs = 0;
  for (size_t i = 0; i < pieces.size(); ++i)
    for (size_t j = i + 1; j < pieces.size(); ++j, ++pairs) total += linear_cka(pieces[i], pieces[j]);
  return pairs > 0 ? total / static_cast<double>(pairs) : 1;
}

json maps_of(const Tensor& weights) {  // [1, H, T, T]
  json maps = json::array();
  for (int64_t part = 0; part < weights.size(1); ++part)
    maps.push_back(select(select(weights, 0, 0), 0, part).to_vector<float>());
  return maps;
}

void add_attention(json& j, Trained& run, uint64_t seed) {
  const auto fed = states(*run.model, run.task->tokens_of(slice(run.data.test.x, 0, 0, few), /*training=*/false));
  double cka = 0;
  for (size_t layer = 0; layer < run.model->blocks.size(); ++layer) {
    examples::Block& block = run.model->blocks[layer];
    const Seen seen = look(block, fed[layer]);
    j["distance"].push_back(attention_distance(seen.weights, /*grid=*/true));
    cka += mean_cka(seen.context, parts_of(block)) / static_cast<double>(run.model->blocks.size());
    const Tensor rows =
        reshape(fed[layer + 1], {fed[layer + 1].numel() / fed[layer + 1].size(2), fed[layer + 1].size(2)});
    j["rank"].push_back(effective_rank(rows));
    if (seed == 1) j["maps"].push_back(maps_of(slice(seen.weights, 0, 0, 1)));
  }
  j["cka"] = cka;
}

void add_ablation(json& j, Trained& run) {
  std::vector<double> damage, spread;
  for (const auto& layer : ablation_damage(*run.model, *run.task, run.data.test, few))
    for (const auto& by_class : layer) {
      damage.push_back(mean(by_class));
      spread.push_back(standard_deviation(by_class));
    }
  j["damage"] = mean(damage);
  j["class_spread"] = mean(spread);
}

void add_linear_probe(json& j, Trained& run) {
  std::vector<Tensor> train, test;
  {
    const no_grad off;
    train = mean_tokens(run, run.data.train, run.data.train.y.size(0));
    test = mean_tokens(run, run.data.test, more);
  }
  for (size_t layer = 0; layer < train.size(); ++layer)
    j["probe"].push_back(linear_probe({train[layer], run.data.train.y},
                                      {test[layer], slice(run.data.test.y, 0, 0, more)}, run.task->classes));
}

}  // namespace

json probe_of(const Setting& setting, uint64_t seed) {
  json j;
  {
    const Trained early = train(setting, seed, [&](int64_t step) { return 4 * step < setting.training.steps; });
    j["cosine_early"] = half_class_cosine(*early.model, *early.task, early.data.train);
    j["cosine_start"] = half_class_cosine(*fresh_model(setting, seed), *early.task, early.data.train);
  }
  Trained run = train(setting, seed);
  run.model->eval();
  j["accuracy"] = run.outcome.accuracy();
  j["cosine_end"] = half_class_cosine(*run.model, *run.task, run.data.train);
  add_linear_probe(j, run);
  const no_grad off;
  add_attention(j, run, seed);
  add_ablation(j, run);
  return j;
}

std::vector<json> probes(Lab& lab, const Setting& setting, int64_t k) {
  std::vector<json> list;
  for (uint64_t seed = 1; seed <= static_cast<uint64_t>(lab.seeds(k)); ++seed)
    list.push_back(lab.measure(
        "trained probe", {{"setting", json_of(setting)}, {"seed", seed}},
        [setting, seed] { return probe_of(setting, seed); }, 20));
  return list;
}

std::vector<double> values(const std::vector<json>& probes, const std::function<double(const json&)>& of) {
  std::vector<double> list;
  for (const json& probe : probes) list.push_back(of(probe));
  return list;
}

std::vector<double> values(const std::vector<json>& probes, const std::string& name) {
  return values(probes, [&](const json& probe) {
    const auto found = probe.find(name);
    if (found == probe.end()) return std::nan("");
    return found->is_array()    ? mean(found->get<std::vector<double>>())
           : found->is_number() ? found->get<double>()
                                : std::nan("");
  });
}

std::vector<std::string> probe_row(const std::string& what, const std::vector<double>& a, const std::vector<double>& b,
                                   int digits) {
  return {what, number(mean(a), digits), number(mean(b), digits), with_range(mean_difference(a, b), digits, true)};
}

std::vector<std::string> probe_header(const std::string& first) {
  return {first, "standard", "grouped", "grouped - standard"};
}

}  // namespace comparison
