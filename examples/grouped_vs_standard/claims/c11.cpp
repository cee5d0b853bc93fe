#include "grouped_vs_standard/claims/trained_probe.h"
#include "grouped_vs_standard/statistics/verdict.h"

namespace comparison {

// If groups specialise more than heads do, their outputs are less alike, and losing one hurts some classes more than
// others.
Claim c11();
Claim c11() {
  return {
      11, "Groups specialise in feature subspaces.",
      "Against the heads of the standard layer, trained on Fashion-MNIST 7x7: (a) linear CKA between the outputs of "
      "every two groups (equivalence: 0.01); (b) when one is replaced by its mean, the spread over the classes of the "
      "accuracy lost (equivalence: 0.5 points). Holds if CKA is lower and the spread larger; refuted if each is the "
      "other way or inside its equivalence; else undecided.",
      [](Lab& lab) {
        constexpr int64_t k = 10;
        const Setting standard = base::sweep();
        const auto a = probes(lab, standard, k), b = probes(lab, grouped_like(standard, grouped_options(4)), k);
        if (!lab.complete()) return Finding{};
        const Interval unlike = mean_difference(values(b, "cka"), values(a, "cka"));
        const Interval spread = mean_difference(values(a, "class_spread"), values(b, "class_spread"));
        const std::string first = claim_verdict(unlike, 0.01), second = claim_verdict(spread, 0.5);
        Finding f;
        f.verdict = with_protocol(both(first, second), lab.seeds(k), k);
        f.effect =
            "CKA lower by " + with_range(unlike, 3, true) + "; spread " + with_range(spread, 2, true) + " points";
        f.n = "1000";
        f.seeds = std::to_string(lab.seeds(k));
        f.why = "Likeness of outputs alone: " + first + "; effect of losing one alone: " + second + ".";
        f.tables.push_back({"Heads of the standard layer and groups of the grouped one, mean over parts and blocks",
                            probe_header("measure"),
                            {probe_row("CKA between two of them", values(a, "cka"), values(b, "cka"), 3),
                             probe_row("accuracy lost without one (points)", values(a, "damage"), values(b, "damage")),
                             probe_row("its deviation over the classes (points)", values(a, "class_spread"),
                                       values(b, "class_spread"))}});
        return f;
      }};
}

}  // namespace comparison
