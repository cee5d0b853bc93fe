#include <fmt/format.h>

#include "grouped_vs_standard/claims/speeds.h"
#include "grouped_vs_standard/statistics/verdict.h"

namespace comparison {

Claim c22();
Claim c22() {
  return {
      22, "Memory falls from 3420 to 3380 MB (x0.988).",
      "The allocator's high-water mark over a training step for every match mode; beside it the bytes that the forward "
      "pass keeps for backward, against the formula (4 + 4e + 2r) B T C a block. Counted, not sampled: no interval. "
      "Verdict by equal_ffn.",
      [](Lab& lab) {
        const Setting standard = base::headline_plain();
        Finding f;
        Table table{"Memory of a training step (4x4 patches, batch 50)",
                    {"mode", "arm", "peak (MB)", "ratio", "kept for backward (MB)", "formula (MB)", "kept / formula",
                     "peak RSS of a process (MB)"},
                    {}};
        double headline = 0, kept[2] = {0, 0}, smaller = 0;
        for (const Match match : all_matches) {
          const auto arms = matched(standard, match);
          double first = 0;
          for (size_t i = 0; i < 2; ++i) {
            const StepBytes bytes = step_bytes(lab, arms[i]);
            if (i == 0) first = bytes.peak;
            const double formula = 4.0 * 50 * cost_of(arms[i].model).activation_floats, ratio = bytes.peak / first;
            if (match == Match::equal_ffn) kept[i] = bytes.kept, headline = ratio;
            if (match == Match::same_width) smaller = ratio;
            table.rows.push_back({name_of(match, arms), i == 0 ? "standard" : "grouped", number(bytes.peak / 1e6),
                                  i == 0 ? "" : number(ratio, 3), number(bytes.kept / 1e6), number(formula / 1e6),
                                  number(bytes.kept / formula, 3),
                                  number(resident_bytes(lab, match, i == 1, arms[0].model.layers) / 1e6, 1)});
          }
        }
        if (!lab.complete()) return Finding{};
        f.verdict = memory_verdict(headline);
        f.effect = "x" + number(headline, 3);
        f.tables.push_back(table);
        f.why = fmt::format(
            "equal_ffn keeps {:.3f} times the activations (its feed-forward is wider); with nothing given back "
            "(same_width) the step takes {:.3f} times the memory: a few parameters fewer, as in the article's -40 MB.",
            kept[1] / kept[0], smaller);
        return f;
      }};
}

}  // namespace comparison
