#include "grouped_vs_standard/claims/base.h"
#include "grouped_vs_standard/statistics/verdict.h"

namespace comparison {

// The printed code returns the concatenated groups; the standard layer that it is compared with has an output
// projection.
Claim c10();
Claim c10() {
  using tutti::nn::OutputProjection;
  return {10, "The concatenated group results are the output (no output projection is shown).",
          "Ablation: the grouped layer with no, a grouped and a dense output projection, parameters made equal by the "
          "feed-forward. Holds if leaving it out costs less than 1 point against the dense one; refuted if it costs "
          "more than 1; else undecided.",
          [](Lab& lab) {
            constexpr int64_t k = 10;
            const Setting standard = base::sweep();
            const auto arm = [&](OutputProjection output) {
              auto options = grouped_options(4);
              options.output = output;
              return grouped_like(standard, options);
            };
            const Comparison none = compare(lab, arm(OutputProjection::dense), arm(OutputProjection::none), k);
            const Comparison grouped = compare(lab, arm(OutputProjection::dense), arm(OutputProjection::grouped), k);
            const Comparison usual = compare(lab, standard, arm(OutputProjection::none), k);
            if (!lab.complete()) return Finding{};
            Finding f = finding_of(none);
            f.verdict = with_protocol(no_loss_verdict(none.difference), none.seeds, k);
            f.tables.push_back({"Output projection",
                                comparison_header("b - a", "a (%)", "b (%)"),
                                {row_of("none - dense", none), row_of("grouped - dense", grouped),
                                 row_of("none - standard layer", usual)}});
            return f;
          }};
}

}  // namespace comparison
