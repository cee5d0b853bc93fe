#include "grouped_vs_standard/claims/trained_probe.h"
#include "grouped_vs_standard/statistics/verdict.h"

namespace comparison {

Claim c12();
Claim c12() {
  return {12, "There is less interference between parameters.",
          "Descriptive: the cosine between the gradients that classes 0-4 and classes 5-9 of Fashion-MNIST give to a "
          "group's q, k, v block (standard layer: a head's rows of it), on all training images after a quarter of the "
          "steps; below 0 they pull against each other. Holds if grouped - standard is above 0, refuted if it is below "
          "0 or inside +-0.01.",
          [](Lab& lab) {
            constexpr int64_t k = 10;
            const Setting standard = base::sweep();
            const auto a = probes(lab, standard, k), b = probes(lab, grouped_like(standard, grouped_options(4)), k);
            if (!lab.complete()) return Finding{};
            const auto row = [&](const std::string& when, const std::string& name) {
              return probe_row(when, values(a, name), values(b, name), 3);
            };
            const Interval effect = mean_difference(values(a, "cosine_early"), values(b, "cosine_early"));
            Finding f;
            f.verdict = with_protocol(claim_verdict(effect, 0.01), lab.seeds(k), k);
            say_effect(f, "cosine ", effect, "", 3);
            f.n = "1000";
            f.seeds = std::to_string(lab.seeds(k));
            f.why =
                "A group's block has a quarter of a head's weights; cosines of shorter vectors lie farther from 0 by "
                "chance alone, in both directions.";
            f.tables.push_back({"Cosine between the gradients of two halves of the classes",
                                probe_header("when"),
                                {row("untrained", "cosine_start"), row("after a quarter of the steps", "cosine_early"),
                                 row("trained", "cosine_end")}});
            return f;
          }};
}

}  // namespace comparison
