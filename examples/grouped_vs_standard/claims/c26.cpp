#include "grouped_vs_standard/claims/scenarios.h"
#include "grouped_vs_standard/statistics/verdict.h"

namespace comparison {

Claim c26();
Claim c26() {
  return {
      26, "It suits fine-grained (medical) classification.",
      "Microscopy of cells (20 splits) and ECG records of arrhythmia (10 splits) at equal parameters, with the "
      "Nadeau-Bengio correction for overlapping splits. Holds if better in one and worse in none; refuted if worse in "
      "one and better in none, or equivalent in both.",
      [](Lab& lab) {
        const ScenarioResult cells = run_scenario(lab, "cells"), ecg = run_scenario(lab, "arrhythmia");
        if (!lab.complete()) return Finding{};
        Finding f = finding_of(cells.comparison);
        const std::string a = claim_verdict(cells.difference, 1), b = claim_verdict(ecg.difference, 1);
        const bool better = a == "holds" || b == "holds", worse = a == "refuted" || b == "refuted";
        const std::string verdict = better && !worse                   ? "holds"
                                    : a == "refuted" && b == "refuted" ? "refuted"
                                    : worse && !better && (cells.difference.high < 0 || ecg.difference.high < 0)
                                        ? "refuted"
                                        : "undecided";
        f.verdict = with_protocol(verdict, cells.comparison.seeds, 20);
        f.effect = with_range(cells.difference, 2, true) + " cells";
        f.interval = with_range(ecg.difference, 2, true) + " ECG";
        Table table{
            "Medical data", {"data", "standard (%)", "grouped (%)", "difference (Nadeau-Bengio)", "splits", "p"}, {}};
        for (const ScenarioResult* r : {&cells, &ecg}) {
          auto row = row_of(r->scenario.name, r->comparison);
          row[3] = with_range(r->difference, 2, true);
          row.push_back(std::to_string(r->p).substr(0, 5));
          table.rows.push_back(row);
        }
        f.tables.push_back(table);
        f.why = "The arrhythmia test sets have 150 records: alone they cannot decide about 3 points.";
        return f;
      }};
}

}  // namespace comparison
