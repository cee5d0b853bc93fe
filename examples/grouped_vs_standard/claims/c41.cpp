#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "grouped_vs_standard/claims/scenarios.h"
#include "grouped_vs_standard/statistics/holm.h"
#include "grouped_vs_standard/statistics/verdict.h"

namespace comparison {

Claim c41();
Claim c41() {
  return {41, "The improvement was confirmed in several projects.",
          "All scenarios together, p values corrected by Holm's method; a scenario whose interval contains 0 and is "
          "wider than twice the article's gain is inconclusive here. Holds if at least three data sets are better in "
          "some scenario "
          "after the correction; refuted if none is and every conclusive interval lies below +3.2; else undecided.",
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
                          .marks = {Article::gain}};
            std::set<std::string> better, worse, data;
            bool all_below = true;
            int64_t fewest = results[0].comparison.seeds, most = fewest;
            for (size_t i = 0; i < results.size(); ++i) {
              const ScenarioResult& r = results[i];
              fewest = std::min(fewest, r.comparison.seeds), most = std::max(most, r.comparison.seeds);
              auto row = row_of(r.scenario.name, r.comparison);
              row[3] = with_range(r.difference, 2, true);
              row.push_back(p_value(r.p));
              row.push_back(p_value(adjusted[i]));
              const bool resolves = r.difference.high - r.difference.low < 2 * Article::gain || r.difference.low > 0 ||
                                    r.difference.high < 0;
              row.push_back(resolves ? accuracy_verdict(r.difference, Article::gain) : "inconclusive here");
              table.rows.push_back(row);
              forest.rows.push_back({r.scenario.name, r.difference, fmt::format("{} seeds", r.comparison.seeds)});
              const std::string& source = r.scenario.standard.task.name;
              data.insert(source);
              if (adjusted[i] < 0.05) (r.difference.value > 0 ? better : worse).insert(source);
              if (resolves) all_below = all_below && r.difference.high < Article::gain;
            }
            Finding f;
            f.verdict = better.size() >= 3 ? "holds" : better.empty() && all_below ? "refuted" : "undecided";
            f.verdict = with_protocol(f.verdict, lab.seeds(10), 10);
            f.effect = fmt::format("{} of {} data sets better, {} worse", better.size(), data.size(), worse.size());
            f.seeds = fmt::format("{}-{}", fewest, most);
            f.tables.push_back(table);
            f.pictures.push_back(forest);
            return f;
          }};
}

}  // namespace comparison
