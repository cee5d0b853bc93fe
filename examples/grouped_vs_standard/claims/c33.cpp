#include <fmt/format.h>

#include "grouped_vs_standard/claims/base.h"
#include "grouped_vs_standard/statistics/moments.h"
#include "grouped_vs_standard/statistics/seeds.h"
#include "grouped_vs_standard/statistics/verdict.h"

namespace comparison {

Claim c33();
Claim c33() {
  return {33, "If validation accuracy fluctuates, use more groups.",
          "Deviation of the test accuracy over the last ten of twenty evaluations at a constant learning rate, and "
          "over seeds at the end, for G = 1 (standard, 4 heads), 2, 4, 8, 16, one head per group; a standard layer "
          "with 16 heads beside them. Holds if the deviation over evaluations at G = 16 lies below that at G = 2; "
          "refuted if it lies above or the two differ by less than .1 point.",
          [](Lab& lab) {
            constexpr int64_t k = 10;
            Setting standard = base::sweep();
            standard.training.constant_rate = true;
            standard.training.evaluations = 20;
            Table table{"Fluctuation", {"G", "over evaluations (points)", "over seeds (points)", "accuracy (%)"}, {}};
            const auto fluctuation = [&](const std::string& name, const Setting& setting) {
              const auto runs = lab.train(setting, lab.seeds(k));
              std::vector<double> deviations;
              for (const Outcome& o : runs)
                deviations.push_back(standard_deviation({o.curve.end() - 10, o.curve.end()}));
              table.rows.push_back({name, with_range(mean_over_seeds(deviations)),
                                    number(standard_deviation(accuracies(runs))), number(mean(accuracies(runs)))});
              return deviations;
            };
            std::vector<std::vector<double>> spread{fluctuation("standard", standard)};
            Series line{.name = "over evaluations"};
            for (const int64_t groups : {2, 4, 8, 16})
              spread.push_back(fluctuation(std::to_string(groups), grouped_like(standard, grouped_options(groups))));
            for (size_t i = 0; i < spread.size(); ++i)
              line.add(static_cast<double>(1 << i), mean_over_seeds(spread[i]));
            Setting many_heads = standard;
            many_heads.model.attention = tutti::nn::MultiHeadAttentionOptions{.num_heads = 16};
            fluctuation("standard, 16 heads", many_heads);
            if (!lab.complete()) return Finding{};
            const Interval effect = mean_difference(spread[4], spread[1]);
            Finding f;
            f.verdict = with_protocol(claim_verdict(effect, 0.1), lab.seeds(k), k);
            say_effect(f, "deviation at G 2 minus at G 16: ", effect, " points");
            f.seeds = std::to_string(lab.seeds(k));
            f.n = "2000";
            f.tables.push_back(table);
            f.pictures.push_back(Figure{.id = "c33-fluctuation",
                                        .title = "Fluctuation of test accuracy against groups",
                                        .x_label = "groups (1: standard)",
                                        .y_label = "deviation (points)",
                                        .log_x = true,
                                        .series = {line},
                                        .bands = {}});
            return f;
          }};
}

}  // namespace comparison
