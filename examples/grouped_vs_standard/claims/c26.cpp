#include <fmt/format.h>

#include "grouped_vs_standard/claims/scenarios.h"
#include "grouped_vs_standard/statistics/verdict.h"

namespace comparison {

Claim c26();
Claim c26() {
  return {
      26, "It suits fine-grained (medical) classification.",
      "Microscopy of cells (20 splits) and ECG records of arrhythmia (10 splits) at equal parameters, with the "
      "Nadeau-Bengio correction for overlapping splits. The 150 test records of the ECG cannot decide about 3 points, "
      "so cells do: holds if better there and not worse on the ECG; refuted if worse on either, or inside +-1 point on "
      "cells; else undecided.",
      [](Lab& lab) {
        const ScenarioResult cells = run_scenario(lab, "cells"), ecg = run_scenario(lab, "arrhythmia");
        if (!lab.complete()) return Finding{};
        Finding f = finding_of(cells.comparison);
        const bool worse = cells.difference.high < 0 || ecg.difference.high < 0;
        const std::string verdict = claim_verdict(cells.difference, 1);
        f.verdict = with_protocol(worse ? "refuted" : verdict, cells.comparison.seeds, 20);
        f.effect = with_range(cells.difference, 2, true) + " cells; " + with_range(ecg.difference, 2, true) + " ECG";
        f.interval = "";
        f.seeds = fmt::format("{} / {}", cells.comparison.seeds, ecg.comparison.seeds);
        Table table{
            "Medical data", {"data", "standard (%)", "grouped (%)", "difference (Nadeau-Bengio)", "splits", "p"}, {}};
        for (const ScenarioResult* r : {&cells, &ecg}) {
          auto row = row_of(r->scenario.name, r->comparison);
          row[3] = with_range(r->difference, 2, true);
          row.push_back(p_value(r->p));
          table.rows.push_back(row);
        }
        f.tables.push_back(table);
        return f;
      }};
}

}  // namespace comparison
