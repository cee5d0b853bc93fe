#include <algorithm>

#include <fmt/format.h>

#include "grouped_vs_standard/claims/recall_lengths.h"
#include "grouped_vs_standard/statistics/verdict.h"

namespace comparison {

// One key somewhere in the sequence: only a layer that looks everywhere finds it.
Claim c38();
Claim c38() {
  return {38, "Global modelling is kept while local features are strengthened.",
          "Associative recall, grouped minus standard: the scenario (64 tokens, 1500 steps), and 64 and 128 tokens "
          "after 600 steps. Holds if less than 1 point is lost in each; refuted if more than 1 is lost in some; else "
          "undecided. (Local features: C2.)",
          [](Lab& lab) {
            Table table{"Associative recall (chance 12.5 %)", comparison_header("tokens, steps"), {}};
            std::vector<Setting> settings = {scenario("recall").standard};
            for (const int64_t length : recall_lengths) settings.push_back(recall_setting(length));
            std::vector<Comparison> all;
            for (const Setting& standard : settings)
              all.push_back(compare(lab, standard, grouped_like(standard, grouped_options(4)), recall_seeds));
            if (!lab.complete()) return Finding{};
            bool kept = true, worse = false;
            for (size_t i = 0; i < all.size(); ++i) {
              table.rows.push_back(
                  row_of(fmt::format("{}, {}", settings[i].task.length, settings[i].training.steps), all[i]));
              const std::string row = no_loss_verdict(all[i].difference);
              kept = kept && row == "holds";
              worse = worse || row == "refuted";
            }
            const auto worst = *std::min_element(all.begin(), all.end(), [](const auto& a, const auto& b) {
              return a.difference.value < b.difference.value;
            });
            Finding f = finding_of(worst);
            f.verdict = with_protocol(kept ? "holds" : worse ? "refuted" : "undecided", worst.seeds, recall_seeds);
            f.why = "The effect is that of the row in which grouped does worst.";
            f.tables.push_back(table);
            return f;
          }};
}

}  // namespace comparison
