#include <fmt/format.h>

#include "grouped_vs_standard/claims/speeds.h"
#include "grouped_vs_standard/statistics/verdict.h"

namespace comparison {

Claim c22();
Claim c22() {
  constexpr double article = 3380.0 / 3420;
  return {
      22, "Memory falls from 3420 to 3380 MB (x0.988).",
      "The allocator's high-water mark over a training step for every match mode; beside it the bytes that the forward "
      "pass keeps for backward, against the formula (4 + 4e + 2r) B T C a block. Counted, not sampled: no interval. "
      "Verdict by equal_ffn.",
      [](Lab& lab) {
        const Setting standard = base::headline_plain();
        const auto task = make_task(standard.task);
        Finding f;
        Table table{"Memory of a training step (4x4 patches, batch 50)",
                    {"mode", "arm", "peak (MB)", "ratio", "kept for backward (MB)", "formula (MB)", "kept / formula"},
                    {}};
        double headline = 0;
        for (const Match match :
             {Match::equal_ffn, Match::equal_inner, Match::equal_depth, Match::shrunk_baseline, Match::same_width}) {
          const auto arms = match_arms(completed(standard.model, *task), grouped_options(4), match);
          double first = 0;
          for (size_t i = 0; i < 2; ++i) {
            Setting s = standard;
            s.model = arms[i];
            const StepBytes bytes = step_bytes(lab, s);
            if (i == 0) first = bytes.peak;
            const double formula = 4.0 * 50 * cost_of(arms[i]).activation_floats, ratio = bytes.peak / first;
            if (match == Match::equal_ffn && i == 1) headline = ratio;
            table.rows.push_back({name_of(match), i == 0 ? "standard" : "grouped", number(bytes.peak / 1e6),
                                  i == 0 ? "" : number(ratio, 3), number(bytes.kept / 1e6), number(formula / 1e6),
                                  number(bytes.kept / formula, 3)});
          }
        }
        if (!lab.complete()) return Finding{};
        f.verdict = ratio_verdict({headline, headline, headline}, article, "larger", "smaller");
        f.effect = "x" + number(headline, 3);
        f.tables.push_back(table);
        f.why =
            "Grouping by itself changes no activation. Equal parameters by equal_ffn keep 14 % more of them (a wider "
            "feed-forward); a few million parameters fewer, as same_width has them, would explain the article's -40 "
            "MB.";
        return f;
      }};
}

}  // namespace comparison
