#include <fmt/format.h>

#include "grouped_vs_standard/claims/tuned.h"
#include "grouped_vs_standard/statistics/verdict.h"

namespace comparison {

Claim c21();
Claim c21() {
  return {
      21, "Validation accuracy rises from 78.5 to 81.7 % (+3.2 points).",
      "Fashion-MNIST, 1000 training and 10 000 test images, equal parameters (equal_ffn), in two regimes: plain, and "
      "tuned (random shifts and mirroring, each arm's learning rate chosen on validation images after the same four "
      "trials). Verdict by the tuned one; the "
      "same in 7x7 patches beside it, since the patch size can move the sign.",
      [](Lab& lab) {
        const auto options = grouped_options(4);
        const auto pair = [&](const Setting& standard, int64_t k) {
          return compare(lab, standard, grouped_like(standard, options), k);
        };
        const TunedHeadline trials = tuned_headline(lab);
        const Comparison tuned = compare_tuned(lab, trials);
        const Comparison plain = pair(base::headline_plain(), 20), coarse = pair(base::sweep(), 10);
        const Comparison one_rate = pair(base::headline_tuned(), 5);
        if (!lab.complete()) return Finding{};
        Finding f = finding_of(tuned);
        f.verdict = with_protocol(accuracy_verdict(tuned.difference, 3.2), tuned.seeds, 10);
        f.tables.push_back(
            {"Headline",
             comparison_header("regime"),
             {row_of("tuned, 4x4 patches, each arm at its rate", tuned), row_of("tuned, both at 3e-3", one_rate),
              row_of("plain, 4x4 patches", plain), row_of("plain, 7x7 patches", coarse)}});
        Table table{
            "Validation accuracy of the trials (%; the best decides)", {"learning rate", "standard", "grouped"}, {}};
        for (size_t i = 0; i < trials.rates.size(); ++i)
          table.rows.push_back(
              {fmt::format("{:g}", trials.rates[i]), number(trials.accuracy[0][i]), number(trials.accuracy[1][i])});
        f.tables.push_back(table);
        f.why = "Plain: " + accuracy_verdict(plain.difference, 3.2) +
                "; plain in 7x7 patches: " + accuracy_verdict(coarse.difference, 3.2) + ".";
        return f;
      }};
}

}  // namespace comparison
