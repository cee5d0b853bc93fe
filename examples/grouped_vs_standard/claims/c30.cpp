#include <fmt/format.h>

#include "grouped_vs_standard/claims/trained_layers.h"
#include "grouped_vs_standard/statistics/moments.h"
#include "grouped_vs_standard/statistics/verdict.h"

namespace comparison {

using namespace tutti;

namespace {

/// Mean loss of the first 50 steps, seed by seed.
std::vector<double> early_losses(const std::vector<Outcome>& outcomes) {
  std::vector<double> list;
  for (const Outcome& o : outcomes) list.push_back(mean({o.losses.begin(), o.losses.begin() + 50}));
  return list;
}

/// By how much b's early loss is below a's.
Interval earlier(const Comparison& c) { return mean_difference(early_losses(c.b), early_losses(c.a)); }

Setting start_of(nn::InitSchedule schedule, nn::ScheduledProjections on = nn::ScheduledProjections::q) {
  auto options = grouped_options(4);
  options.init = schedule;
  options.init_on = on;
  return grouped_like(base::sweep(), options);
}

}  // namespace

// Group i's weights start 1 / (i + 1) times as large: later groups begin nearer to uniform attention.
Claim c30();
Claim c30() {
  return {
      30, "Differentiated initialisation: xavier_uniform with gain 1 / (i + 1) for group i.",
      "The schedule on q (as printed), on q and k, on q, k and v, each against the constant start: mean loss of the "
      "first 50 steps, accuracy, groups dead after training (3 seeds). Judged as printed. Holds if the accuracy is "
      "above, or the early loss below at an accuracy not worse and at most 1 point lower; refuted if the accuracy is "
      "below, or inside +-1 point with an early loss higher or equal to within 0.02; else undecided.",
      [](Lab& lab) {
        constexpr int64_t k = 10, k_layers = 3;
        using On = nn::ScheduledProjections;
        const Setting constant = start_of(nn::InitSchedule::constant);
        std::vector<std::pair<std::string, Comparison>> arms;
        std::vector<std::vector<LayerStats>> layers{trained_layers(lab, constant, k_layers)};
        for (const On on : {On::q, On::qk, On::qkv}) {
          const Setting arm = start_of(nn::InitSchedule::inverse_index, on);
          arms.emplace_back(nn::name_of(on), compare(lab, constant, arm, k));
          layers.push_back(trained_layers(lab, arm, k_layers));
        }
        if (!lab.complete()) return Finding{};
        Table table{"Start with gain 1 / (i + 1)",
                    {"on", "early loss", "lower by", "accuracy (%)", "against constant (points)", "dead groups",
                     "least variance / largest"},
                    {}};
        const auto add = [&](const std::string& name, const std::vector<Outcome>& outcomes, const std::string& lower,
                             const Interval& accuracy, const std::string& gain, const std::vector<LayerStats>& stats) {
          double dead = 0, groups = 0, least = 1;
          for (const LayerStats& s : stats)
            dead += s.dead, groups += s.groups, least = std::min(least, s.least_variance);
          table.rows.push_back({name, number(mean(early_losses(outcomes)), 3), lower, with_range(accuracy), gain,
                                fmt::format("{:.0f} of {:.0f}", dead, groups), number(least, 3)});
        };
        const Comparison& printed = arms.front().second;
        add("nothing (constant)", printed.a, "-", printed.accuracy_a, "-", layers[0]);
        for (size_t i = 0; i < arms.size(); ++i) {
          const auto& [name, c] = arms[i];
          add(name, c.b, with_range(earlier(c), 3, true), c.accuracy_b, with_range(c.difference, 2, true),
              layers[i + 1]);
        }
        const Interval& accuracy = printed.difference;
        const Interval early = earlier(printed);
        const bool holds = accuracy.low > 0 || (early.low > 0 && accuracy.low > -1 && accuracy.high >= 0);
        const bool refuted =
            accuracy.high < 0 || (claim_verdict(accuracy, 1) == "refuted" && claim_verdict(early, 0.02) == "refuted");
        Finding f = finding_of(printed);
        f.verdict = with_protocol(holds ? "holds" : refuted ? "refuted" : "undecided", printed.seeds, k);
        f.why = "On q, the mean loss of the first 50 steps is lower by " + with_range(early, 3, true) + ".";
        f.tables.push_back(table);
        return f;
      }};
}

}  // namespace comparison
