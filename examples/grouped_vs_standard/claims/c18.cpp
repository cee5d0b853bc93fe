#include "grouped_vs_standard/claims/base.h"
#include "grouped_vs_standard/statistics/moments.h"
#include "grouped_vs_standard/statistics/verdict.h"

namespace comparison {
namespace {

/// Training minus test accuracy, seed by seed.
std::vector<double> gaps(const std::vector<Outcome>& outcomes) {
  std::vector<double> list;
  for (const Outcome& o : outcomes) list.push_back(o.train_accuracy - o.accuracy());
  return list;
}

/// By how much the gap of b is narrower than that of a.
Interval narrower(const std::vector<Outcome>& a, const std::vector<Outcome>& b) {
  return mean_difference(gaps(b), gaps(a));
}

}  // namespace

// A regulariser narrows the gap between training and test accuracy. Whether that is grouping's doing is seen against
// two other ways of saving the same weights.
Claim c18();
Claim c18() {
  return {
      18, "Grouping is an implicit regularisation.",
      "Train-test gap at equal parameters, standard minus grouped (positive: the gap is narrower), beside low-rank and "
      "randomly masked q, k, v of the grouped layer's weights. Holds if it is above 0, narrower than both of these "
      "(else it is fewer weights that regularise, not groups) and the test accuracy is not worse; refuted if below 0 "
      "or within +-1 point of 0, or the test accuracy is worse; else undecided. (The condition on the controls was "
      "added after the first quick run.)",
      [](Lab& lab) {
        constexpr int64_t k = 20;
        const Setting standard = base::sweep();
        const int64_t c = standard.model.dim;
        const Setting grouped = grouped_like(standard, grouped_options(4));
        const Setting low_rank =
            with_attention(standard, examples::LowRankAttentionOptions{.num_heads = 4, .rank = c / 8});
        const Setting masked =
            with_attention(standard, examples::RandomMaskAttentionOptions{.num_heads = 4, .groups = 4});
        const Comparison main = compare(lab, standard, grouped, k);
        const Comparison rank = compare(lab, standard, low_rank, k);
        const Comparison mask = compare(lab, standard, masked, k);
        if (!lab.complete()) return Finding{};
        const Interval effect = narrower(main.a, main.b);
        Finding f = finding_of(main);
        std::string verdict = claim_verdict(effect, 1);
        if (main.difference.high < 0)
          verdict = "refuted";  // a smaller gap by learning less
        else if (verdict == "holds" && (narrower(rank.b, main.b).low <= 0 || narrower(mask.b, main.b).low <= 0))
          verdict = "undecided";
        f.verdict = with_protocol(verdict, main.seeds, k);
        f.effect = "gap narrower by " + with_range(effect, 2, true) + " points";
        f.interval = "";
        const auto row = [&](const std::string& name, const Comparison& x) {
          return std::vector<std::string>{name,
                                          number(mean(gaps(x.b))),
                                          with_range(narrower(x.a, x.b), 2, true),
                                          &x == &main ? "" : with_range(narrower(x.b, main.b), 2, true),
                                          with_range(x.difference, 2, true),
                                          std::to_string(x.seeds)};
        };
        f.tables.push_back(
            {"Gap between training and test accuracy (points)",
             {"q, k, v", "gap", "narrower than standard by", "grouped narrower than this by",
              "test accuracy against standard", "seeds"},
             {row("grouped, G 4", main), row("low rank, r 8", rank), row("random mask, density 1/4", mask)}});
        return f;
      }};
}

}  // namespace comparison
