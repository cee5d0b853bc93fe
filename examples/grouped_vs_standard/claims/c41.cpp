#include <fmt/format.h>

#include "grouped_vs_standard/claims/scenarios.h"
#include "grouped_vs_standard/statistics/holm.h"
#include "grouped_vs_standard/statistics/verdict.h"

namespace comparison {

Claim c41();
Claim c41() {
  return {41, "The improvement was confirmed in several projects.",
          "All scenarios together, p values corrected by Holm's method. Holds if at least three scenarios are better "
          "after the correction; refuted if none is; else undecided.",
          [](Lab& lab) {
            std::vector<ScenarioResult> results;
            for (const std::string& key : scenario_keys()) results.push_back(run_scenario(lab, key));
            if (!lab.complete()) return Finding{};
            std::vector<double> p;
            for (const ScenarioResult& r : results) p.push_back(r.p);
            const std::vector<double> adjusted = holm(p);
            Table table{"All scenarios (grouped - standard, G = 4, equal parameters)",
                        {"scenario", "standard (%)", "grouped (%)", "difference", "seeds", "p", "p (Holm)", "verdict"},
                        {}};
            Forest forest{.id = "c41-forest",
                          .title = "Grouped minus standard in every scenario",
                          .x_label = "accuracy difference (points)",
                          .rows = {},
                          .reference = 0,
                          .marks = {3.2}};
            int better = 0, worse = 0;
            for (size_t i = 0; i < results.size(); ++i) {
              const ScenarioResult& r = results[i];
              auto row = row_of(r.scenario.name, r.comparison);
              row[3] = with_range(r.difference, 2, true);
              row.push_back(fmt::format("{:.4f}", r.p));
              row.push_back(fmt::format("{:.4f}", adjusted[i]));
              row.push_back(accuracy_verdict(r.difference, 3.2));
              table.rows.push_back(row);
              forest.rows.push_back({r.scenario.name, r.difference, fmt::format("{} seeds", r.comparison.seeds)});
              if (adjusted[i] < 0.05) (r.difference.value > 0 ? better : worse) += 1;
            }
            Finding f;
            f.verdict = better >= 3 ? "holds" : better == 0 ? "refuted" : "undecided";
            f.verdict = with_protocol(f.verdict, lab.seeds(10), 10);
            f.effect = fmt::format("{} of {} better, {} worse", better, results.size(), worse);
            f.seeds = "3-20";
            f.tables.push_back(table);
            f.pictures.push_back(forest);
            return f;
          }};
}

}  // namespace comparison
