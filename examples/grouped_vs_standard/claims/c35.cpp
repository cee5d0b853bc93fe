#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "grouped_vs_standard/claims/trained_probe.h"
#include "grouped_vs_standard/statistics/moments.h"
#include "grouped_vs_standard/statistics/seeds.h"
#include "grouped_vs_standard/statistics/verdict.h"

namespace comparison {
namespace {

using namespace tutti;
using nlohmann::json;

constexpr int64_t most_groups = 8;
const std::vector<int64_t> candidates = {1, 2, 4, most_groups};

/// All arms have eight heads and the feed-forward of the standard layer: what differs is the projection.
nn::GroupedMultiHeadAttentionOptions layer(int64_t groups) {
  return {.num_heads = most_groups, .groups = groups, .scale = nn::AttentionScale::head_dim};
}

/// Accuracy, FLOPs share of the q, k, v projections on the test set, and how often each candidate was chosen there.
json with_dynamic_groups(const Setting& setting, uint64_t seed) {
  Trained run = train(setting, seed);
  const no_grad off;
  run.model->eval();
  (*run.model)(run.task->tokens_of(slice(run.data.test.x, 0, 0, 2000), /*training=*/false));
  std::vector<double> chosen(candidates.size());
  for (const examples::Block& block : run.model->blocks) {
    const Tensor choice = std::get<nn::GroupedMultiHeadAttention>(block.attention).dynamic->choice();
    for (const int64_t c : choice.to_vector<int64_t>())
      chosen[static_cast<size_t>(c)] +=
          1 / static_cast<double>(choice.numel() * static_cast<int64_t>(run.model->blocks.size()));
  }
  return {{"accuracy", run.outcome.accuracy()}, {"share", flops_share(*run.model).item()}, {"chosen", chosen}};
}

/// The static groups' accuracy at a FLOPs share, linear between neighbours in the logarithm of the share.
double static_accuracy_at(double share, const std::vector<double>& by_candidate) {
  const double at = std::clamp(-std::log2(share), 0.0, static_cast<double>(by_candidate.size() - 1));  // log2 of groups
  const auto below = std::min(static_cast<size_t>(at), by_candidate.size() - 2);
  const double weight = at - static_cast<double>(below);
  return (1 - weight) * by_candidate[below] + weight * by_candidate[below + 1];
}

std::vector<json> dynamic_runs(Lab& lab, const Setting& base, double penalty, int64_t k) {
  auto options = layer(1);
  options.dynamic.candidates = candidates;
  Setting s = with_attention(base, options, /*equal_parameters=*/false);
  s.training.flops_penalty = penalty;
  std::vector<json> runs;
  for (uint64_t seed = 1; seed <= static_cast<uint64_t>(lab.seeds(k)); ++seed)
    runs.push_back(lab.measure(
        "dynamic groups", {{"setting", json_of(s)}, {"seed", seed}}, [s, seed] { return with_dynamic_groups(s, seed); },
        8));
  return runs;
}

/// Seed by seed: FLOPs share, accuracy, and by how much that is above static groups at this share.
struct Dynamic {
  std::vector<double> share, accuracy, above;
  std::string chosen;  ///< percent of the test images for each candidate
};

Dynamic against_static(const std::vector<json>& runs, const std::vector<std::vector<Outcome>>& fixed) {
  Dynamic d{.share = values(runs, "share"), .accuracy = values(runs, "accuracy"), .above = {}, .chosen = {}};
  for (size_t seed = 0; seed < runs.size(); ++seed) {
    std::vector<double> by_candidate;
    for (const auto& outcomes : fixed) by_candidate.push_back(outcomes[seed].accuracy());
    d.above.push_back(d.accuracy[seed] - static_accuracy_at(d.share[seed], by_candidate));
  }
  for (size_t c = 0; c < candidates.size(); ++c) {
    const auto of = [c](const json& run) { return 100 * run.at("chosen").at(c).get<double>(); };
    d.chosen += (c > 0 ? " / " : "") + number(mean(values(runs, of)), 0) + " %";
  }
  return d;
}

}  // namespace

Claim c35();
Claim c35() {
  return {
      35, "The number of groups can follow the input's content.",
      "Fashion-MNIST 7x7: groups chosen per image from 1, 2, 4, 8 by a gate, without and with a penalty (0.1, 0.5) on "
      "the FLOPs of q, k and v, against every static number of groups. Effect: accuracy minus that of static groups at "
      "the same FLOPs (between two numbers: interpolated), the mean over the penalties 0.1 and 0.5. Holds if above 0; "
      "refuted if below 0 or inside +-1 point.",
      [](Lab& lab) {
        constexpr int64_t k = 10;
        const Setting base = base::sweep();
        std::vector<std::vector<Outcome>> fixed;  // [candidate][seed]
        for (const int64_t g : candidates)
          fixed.push_back(lab.train(with_attention(base, layer(g), /*equal_parameters=*/false), lab.seeds(k)));
        const std::vector<double> penalties = {0, 0.1, 0.5};
        std::vector<std::vector<json>> runs;  // [penalty][seed]
        for (const double penalty : penalties) runs.push_back(dynamic_runs(lab, base, penalty, k));
        if (!lab.complete()) return Finding{};

        Table table{"Accuracy against the FLOPs of q, k and v (1: dense)",
                    {"groups", "FLOPs share", "accuracy (%)", "above static groups (points)", "chosen 1 / 2 / 4 / 8"},
                    {}};
        Series line{.name = "static groups"};
        for (size_t c = 0; c < candidates.size(); ++c) {
          const double share = 1 / static_cast<double>(candidates[c]);
          const Interval i = mean_over_seeds(accuracies(fixed[c]));
          line.add(share, i);
          table.rows.push_back({fmt::format("{}", candidates[c]), number(share, 3), with_range(i)});
        }
        Figure figure{.id = "c35-flops",
                      .title = "Groups chosen by content against static groups",
                      .x_label = "FLOPs of q, k, v (dense: 1)",
                      .y_label = "test accuracy (%)",
                      .log_x = true,
                      .series = {line}};
        std::vector<double> effect(static_cast<size_t>(lab.seeds(k)));
        for (size_t p = 0; p < penalties.size(); ++p) {
          const Dynamic d = against_static(runs[p], fixed);
          if (penalties[p] > 0)
            for (size_t i = 0; i < effect.size(); ++i) effect[i] += d.above[i] / 2;
          Series point{.name = fmt::format("dynamic, penalty {}", penalties[p]), .line = false};
          point.add(mean(d.share), mean_over_seeds(d.accuracy));
          figure.series.push_back(point);
          table.rows.push_back({point.name, number(mean(d.share), 3), with_range(mean_over_seeds(d.accuracy)),
                                with_range(mean_over_seeds(d.above), 2, true), d.chosen});
        }
        const Interval above = mean_over_seeds(effect);
        Finding f;
        f.verdict = with_protocol(claim_verdict(above, 1), lab.seeds(k), k);
        say_effect(f, "", above, " points at equal FLOPs");
        f.seeds = fmt::format("{}", lab.seeds(k));
        f.tables.push_back(table);
        f.pictures.push_back(figure);
        return f;
      }};
}

}  // namespace comparison
