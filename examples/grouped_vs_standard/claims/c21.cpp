#include "grouped_vs_standard/claims/base.h"
#include "grouped_vs_standard/statistics/verdict.h"

namespace comparison {

Claim c21();
Claim c21() {
  return {21, "Validation accuracy rises from 78.5 to 81.7 % (+3.2 points).",
          "Fashion-MNIST, 1000 training and 10 000 test images, equal parameters (equal_ffn), in two regimes: plain, and "
          "tuned (random shifts and mirroring, learning rate chosen on validation images). Verdict by the tuned one; the "
          "same in 7x7 patches beside it, since the patch size can move the sign.",
          [](Lab& lab) {
            const auto options = grouped_options(4);
            const auto pair = [&](const Setting& standard, int64_t k) {
              return compare(lab, standard, grouped_like(standard, options), k);
            };
            const Comparison tuned = pair(base::headline_tuned(), 10), plain = pair(base::headline_plain(), 20);
            const Comparison coarse = pair(base::sweep(), 10);
            if (!lab.complete()) return Finding{};
            Finding f = finding_of(tuned);
            f.verdict = with_protocol(accuracy_verdict(tuned.difference, 3.2), tuned.seeds, 10);
            f.tables.push_back(
                {"Headline", comparison_header("regime"),
                 {row_of("tuned, 4x4 patches", tuned), row_of("plain, 4x4 patches", plain), row_of("plain, 7x7 patches", coarse)}});
            f.why = "Plain: " + accuracy_verdict(plain.difference, 3.2) + "; plain in 7x7 patches: " +
                    accuracy_verdict(coarse.difference, 3.2) + ".";
            return f;
          }};
}

}  // namespace comparison
