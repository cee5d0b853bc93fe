#include "grouped_vs_standard/claims/base.h"

#include <cmath>

#include <fmt/format.h>

#include "grouped_vs_standard/statistics/verdict.h"

namespace comparison {

// The article does not say how the counts were made equal; its printed code leaves the grouped model smaller.
Claim c23();
Claim c23() {
  return {
      23, "The comparison is at equal parameter count.",
      "In 7x7 patches, 20 seeds: every way of making them equal, and the printed code as it is (same_width): "
      "parameters as the modules count them, FLOPs and kept activations by the formulae, accuracy; and attention and "
      "feed-forward width changed one at a time, since a gain may come from either. Equal means within .1 %. Holds if "
      "some mode reaches the article's gain at equal parameters; refuted if every equal mode's interval lies below "
      "+3.2.",
      [](Lab& lab) {
        constexpr int64_t k = 20;
        const Setting standard = base::sweep();
        Finding f;
        Table costs{"What each mode costs",
                    {"mode", "arm", "parameters", "difference (%)", "MFLOP forward", "activations kept (floats)",
                     "feed-forward widths"},
                    {}};
        Table results{"Accuracy of each mode", comparison_header("mode"), {}};
        bool reached = false, all_below = true;
        for (const Match match : all_matches) {
          const auto arms = matched(standard, match);
          const Comparison c = compare(lab, arms[0], arms[1], k);
          const auto base_parameters = static_cast<double>(parameters_of(arms[0].model));
          for (size_t i = 0; i < 2; ++i) {
            const auto parameters = parameters_of(arms[i].model);
            const Cost cost = cost_of(arms[i].model);
            const double difference = 100 * (static_cast<double>(parameters) - base_parameters) / base_parameters;
            costs.rows.push_back({name_of(match, arms), i == 0 ? "standard" : "grouped", fmt::format("{}", parameters),
                                  fmt::format("{:+.3f}", difference), fmt::format("{:.2f}", cost.forward_flops / 1e6),
                                  fmt::format("{:.0f}", cost.activation_floats),
                                  fmt::format("{}", fmt::join(arms[i].model.hidden, " "))});
          }
          results.rows.push_back(row_of(name_of(match, arms), c));
          if (match == Match::same_width) continue;
          reached = reached || (c.difference.low > 0 && c.difference.high >= Article::gain);
          all_below = all_below && c.difference.high < Article::gain;
        }
        // A gain may not be credited to the groups if the wider feed-forward gives it too.
        const Setting grouped = matched(standard, Match::same_width)[1],
                      wide_grouped = matched(standard, Match::equal_ffn)[1];
        Setting wide = standard;
        wide.model.hidden = wide_grouped.model.hidden;
        Table crossed{
            "Attention and feed-forward: one changed at a time", comparison_header("b - a", "a (%)", "b (%)"), {}};
        const auto cross = [&](const char* name, const Setting& a, const Setting& b) {
          crossed.rows.push_back(row_of(name, compare(lab, a, b, k)));
        };
        cross("grouped - standard, usual feed-forward", standard, grouped);
        cross("grouped - standard, wider feed-forward", wide, wide_grouped);
        cross("wider - usual feed-forward, standard", standard, wide);
        cross("wider - usual feed-forward, grouped", grouped, wide_grouped);
        if (!lab.complete()) return Finding{};
        f.verdict = with_protocol(reached ? "holds" : all_below ? "refuted" : "undecided", lab.seeds(k), k);
        f.effect = results.rows[0][3] + " points (equal_ffn)";
        f.seeds = results.rows[0][4];
        f.n = "10000";
        f.tables = {costs, results, crossed};
        return f;
      }};
}

}  // namespace comparison
