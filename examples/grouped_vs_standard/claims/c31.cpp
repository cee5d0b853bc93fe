#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "grouped_vs_standard/claims/exact.h"
#include "grouped_vs_standard/claims/scales.h"
#include "grouped_vs_standard/claims/trained_layers.h"
#include "grouped_vs_standard/statistics/verdict.h"

namespace comparison {

using namespace tutti;
using nn::AttentionScale;

namespace {

/// How many layers of a kind were flagged.
struct Count {
  double flagged = 0, all = 0;
  void add(bool warned) { flagged += warned, all += 1; }
  double missed() const { return 1 - flagged / all; }
  Count& operator+=(const Count& other) {
    flagged += other.flagged, all += other.all;
    return *this;
  }
};

nn::GroupedMultiHeadAttention fresh(nn::GroupedMultiHeadAttentionOptions options) {
  options.embed_dim = 64;
  manual_seed(3);
  return nn::GroupedMultiHeadAttention(options);
}

/// The layer under tokens of five kinds: independent ones, large, small, with a common part, causally masked.
Count under_all_tokens(const nn::GroupedMultiHeadAttention& layer) {
  const Tensor x = normal_numbers({8, 32, 64}, DType::float32, 4);
  const Tensor common = normal_numbers({1, 1, 64}, DType::float32, 5) * 3.0;
  Count count;
  for (const Tensor& tokens : {x, x * 5.0, x * 0.1, x + common})
    count.add(!nn::attention_stats(layer, tokens).warnings.empty());
  count.add(!nn::attention_stats(layer, x, {.causal = true}).warnings.empty());
  return count;
}

/// Layers whose scale is not 1 / sqrt(head width).
Count wrong_scales() {
  Count count;
  const auto add = [&](const nn::GroupedMultiHeadAttentionOptions& o) { count += under_all_tokens(fresh(o)); };
  for (const int64_t groups : {2, 4, 8}) {
    add({.groups = groups, .head_mode = nn::HeadMode::literal});
    add({.groups = groups, .scale = AttentionScale::embed_dim});
    add({.num_heads = 2 * groups, .groups = groups});
    add({.num_heads = groups / 2, .groups = groups});
    for (const double factor : {3.0, 1.0 / 3}) {
      auto layer = fresh({.groups = groups, .scale = AttentionScale::learned});
      const no_grad off;
      copy_(layer.head_scale, layer.head_scale * factor);
      count += under_all_tokens(layer);
    }
  }
  return count;
}

/// Layers with the right scale, some of which suffer from something else.
Count right_scales() {
  Count count;
  for (const int64_t groups : {2, 4, 8}) {
    const auto add = [&](nn::GroupedMultiHeadAttentionOptions o) {
      o.groups = groups;
      count += under_all_tokens(fresh(o));
    };
    add({});
    add({.num_heads = 2 * groups, .scale = AttentionScale::head_dim});
    add({.head_mode = nn::HeadMode::literal, .scale = AttentionScale::embed_dim});
    add({.scale = AttentionScale::learned});
    add({.init = nn::InitSchedule::inverse_index});
    add({.norm = nn::ProjectionNorm::per_group});
    const no_grad off;
    auto large = fresh({.groups = groups}), alike = fresh({.groups = groups}), dead = fresh({.groups = groups});
    copy_(large.weight, large.weight * 3.0);                        // too large a start
    copy_(select(alike.weight, 0, 1), select(alike.weight, 0, 0));  // q = k: tokens look for their like
    fill_(select(select(dead.weight, 0, 2), 0, 0), 0);              // a group without values
    for (const auto* layer : {&large, &alike, &dead}) count += under_all_tokens(*layer);
  }
  return count;
}

Count of_trained(const std::vector<LayerStats>& stats) {
  Count count;
  for (const LayerStats& s : stats) count += {s.flagged, s.layers};
  return count;
}

/// Mean change of the loss from step to step, steps 10 to 100.
double oscillation(const std::vector<Outcome>& outcomes) {
  double sum = 0, n = 0;
  for (const Outcome& o : outcomes)
    for (size_t i = 10; i < 100; ++i) sum += std::abs(o.losses[i] - o.losses[i - 1]), n += 1;
  return sum / n;
}

}  // namespace

Claim c31();
Claim c31() {
  return {
      31, "If the early loss oscillates, check the scale.",
      "nn::attention_stats on layers with a wrong scale (not 1 / sqrt(head width)) and with the right one, some of "
      "them otherwise unwell; five kinds of tokens; fresh, after 50 steps, and trained. A layer is flagged where its "
      "scale is off and the symptoms are there, so one with the right scale cannot be, by construction: what is tested "
      "is what is missed. Holds if at most 1 in 20 is missed, both fresh and after 50 steps, and at most 1 in 20 "
      "flagged without reason; refuted if any of these is more than 1 in 4; else undecided. Beside it: does the early "
      "loss oscillate more under a wrong scale?",
      [](Lab& lab) {
        constexpr int64_t k = 3, k_losses = 10, early = 50;
        using H = HeadLayout;
        const std::pair<H, AttentionScale> wrong[] = {{H::literal, AttentionScale::group_dim},
                                                      {H::one_each, AttentionScale::embed_dim},
                                                      {H::two_each, AttentionScale::group_dim}};
        const std::pair<H, AttentionScale> right[] = {{H::literal, AttentionScale::embed_dim},
                                                      {H::one_each, AttentionScale::group_dim},
                                                      {H::two_each, AttentionScale::head_dim}};
        Count wrong_early, right_early;
        Table losses{
            "Early loss: mean change from step to step, steps 10 to 100", {"heads", "right scale", "wrong scale"}, {}};
        for (size_t i = 0; i < 3; ++i) {
          const auto setting = [](const auto& arm) { return scaled_sweep(arm.first, arm.second); };
          wrong_early += of_trained(trained_layers(lab, setting(wrong[i]), k, early));
          right_early += of_trained(trained_layers(lab, setting(right[i]), k, early));
          losses.rows.push_back({name_of(wrong[i].first),
                                 number(oscillation(lab.train(setting(right[i]), lab.seeds(k_losses))), 3),
                                 number(oscillation(lab.train(setting(wrong[i]), lab.seeds(k_losses))), 3)});
        }
        right_early += of_trained(trained_layers(lab, base::sweep(), k, early));
        const Count trained = of_trained(trained_layers(lab, scaled_sweep(H::one_each, AttentionScale::group_dim), k));
        if (!lab.complete()) return Finding{};
        const Count wrong_fresh = wrong_scales(), right_fresh = right_scales();
        Count hits = wrong_fresh, alarms = right_fresh;
        hits += wrong_early;
        alarms += right_early;
        alarms += trained;
        const double missed = std::max(wrong_fresh.missed(), wrong_early.missed()),
                     false_alarms = alarms.flagged / alarms.all;
        Finding f;
        f.verdict = missed <= 0.05 && false_alarms <= 0.05 ? "holds"
                    : missed > 0.25 || false_alarms > 0.25 ? "refuted"
                                                           : "undecided";
        f.verdict = with_protocol(f.verdict, lab.seeds(k), k);
        f.effect = fmt::format("{:.0f} of {:.0f} wrong scales flagged, {:.0f} of {:.0f} others", hits.flagged, hits.all,
                               alarms.flagged, alarms.all);
        f.why = fmt::format("Wrong scales flagged: {:.0f} of {:.0f} in fresh layers, {:.0f} of {:.0f} after 50 steps.",
                            wrong_fresh.flagged, wrong_fresh.all, wrong_early.flagged, wrong_early.all);
        f.n = fmt::format("{:.0f}", hits.all + alarms.all);
        f.seeds = fmt::format("{}", lab.seeds(k));
        const auto cell = [](const Count& c) { return fmt::format("{:.0f} of {:.0f}", c.flagged, c.all); };
        f.tables.push_back({"Layers flagged by the diagnostic",
                            {"layers", "wrong scale", "right scale"},
                            {{"fresh", cell(wrong_fresh), cell(right_fresh)},
                             {"after 50 steps", cell(wrong_early), cell(right_early)},
                             {"trained", "", cell(trained)}}});
        f.tables.push_back(losses);
        return f;
      }};
}

}  // namespace comparison
