#include <cmath>

#include <fmt/format.h>

#include "grouped_vs_standard/claims/rates.h"
#include "grouped_vs_standard/statistics/moments.h"
#include "grouped_vs_standard/statistics/verdict.h"

namespace comparison {

// Fan-in scaling (muP) predicts the opposite: a group's maps have a quarter of the inputs and bear a larger rate.
Claim c32();
Claim c32() {
  return {
      32, "The initial learning rate should be about 0.7 times that of the standard layer.",
      "The optimum of both arms on one grid of seven rates, on validation images, five seeds. Holds if the interval of "
      "grouped optimum / standard optimum contains .7 and lies below 1; refuted if it does not contain .7.",
      [](Lab& lab) {
        constexpr int64_t k = 5;
        const RateSweep s = rate_sweep(lab, k);
        if (!lab.complete()) return Finding{};
        Finding f;
        const Interval ratio{std::exp2(s.log2_ratio.value), std::exp2(s.log2_ratio.low), std::exp2(s.log2_ratio.high)};
        const bool contains = ratio.low <= 0.7 && ratio.high >= 0.7;
        f.verdict = with_protocol(!contains ? "refuted" : ratio.high < 1 ? "holds" : "undecided", lab.seeds(k), k);
        f.effect = "ratio of optima " + number(ratio.value);
        f.interval = range(ratio);
        f.seeds = std::to_string(lab.seeds(k));
        f.n = "5000";
        Table table{"Validation accuracy (%)", {"learning rate", "standard", "grouped"}, {}};
        for (size_t i = 0; i < s.rates.size(); ++i)
          table.rows.push_back(
              {fmt::format("{:g}", s.rates[i]), number(mean(s.accuracy[0][i])), number(mean(s.accuracy[1][i]))});
        f.tables.push_back(table);
        f.pictures.push_back(picture_of(s));
        return f;
      }};
}

}  // namespace comparison
