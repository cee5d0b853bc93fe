#include <fmt/format.h>

#include "grouped_vs_standard/claims/tuned.h"
#include "grouped_vs_standard/statistics/mcnemar.h"
#include "grouped_vs_standard/statistics/verdict.h"

namespace comparison {

namespace {

/// What a single run, which is what the article reports, would have shown.
Table seed_by_seed(const Comparison& c) {
  Table table{"Seed by seed (McNemar's test on the 10 000 images: what one run alone would have shown)",
              {"seed", "standard (%)", "grouped (%)", "difference", "p"},
              {}};
  for (size_t i = 0; i < c.a.size(); ++i) {
    const McNemar test = mcnemar(c.a[i].correct, c.b[i].correct);
    table.rows.push_back({std::to_string(i + 1), number(c.a[i].accuracy()), number(c.b[i].accuracy()),
                          with_range(difference(test, c.items), 2, true), p_value(test.p)});
  }
  return table;
}

}  // namespace

Claim c21();
Claim c21() {
  return {
      21, "Validation accuracy rises from 78.5 to 81.7 % (+3.2 points).",
      "Fashion-MNIST, 1000 training and 10 000 test images, equal parameters (equal_ffn), in two regimes: plain, and "
      "tuned (random shifts and mirroring, each arm's learning rate chosen on validation images after the same four "
      "trials). Verdict by the tuned one; the same in 7x7 patches beside it, since the patch size can move the sign.",
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
        f.verdict = with_protocol(accuracy_verdict(tuned.difference, Article::gain), tuned.seeds, tuned_seeds);
        const bool tried = !trials.rates.empty();
        Table headline{"Headline", comparison_header("regime"), {}};
        if (tried) headline.rows.push_back(row_of("tuned, 4x4 patches, each arm at its rate", tuned));
        headline.rows.push_back(row_of("tuned, 4x4 patches, both at 3e-3", one_rate));
        headline.rows.push_back(row_of("plain, 4x4 patches", plain));
        headline.rows.push_back(row_of("plain, 7x7 patches", coarse));
        f.tables.push_back(headline);
        Table table{
            "Validation accuracy of the trials (%; the best decides)", {"learning rate", "standard", "grouped"}, {}};
        for (size_t i = 0; i < trials.rates.size(); ++i)
          table.rows.push_back(
              {fmt::format("{:g}", trials.rates[i]), number(trials.accuracy[0][i]), number(trials.accuracy[1][i])});
        if (tried) f.tables.push_back(table);
        f.tables.push_back(seed_by_seed(tuned));
        f.why = "Plain: " + accuracy_verdict(plain.difference, Article::gain) +
                "; plain in 7x7 patches: " + accuracy_verdict(coarse.difference, Article::gain) + ".";
        for (size_t arm = 0; tried && arm < 2; ++arm) {
          const double rate = trials.arms[arm].training.lr;
          if (rate == trials.rates.front() || rate == trials.rates.back())
            f.why += fmt::format(" The best rate of the {} arm, {:g}, is at the edge of what was tried.",
                                 arm == 0 ? "standard" : "grouped", rate);
        }
        if (!tried) f.why += " A quick run makes no trials: both arms at 3e-3.";
        return f;
      }};
}

}  // namespace comparison
