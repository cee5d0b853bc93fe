#include <fmt/format.h>

#include "grouped_vs_standard/claims/probes.h"
#include "grouped_vs_standard/claims/trained_probe.h"
#include "grouped_vs_standard/statistics/verdict.h"

namespace comparison {

// Grouping splits channels, not positions: nothing in it favours near tokens. What training makes of it is measured.
Claim c02();
Claim c02() {
  return {2, "It extracts markedly better local features.",
          "Two effects. (a) The gain over the standard layer on MNIST-1D minus the gain after one fixed permutation of "
          "its steps, which destroys locality (equivalence: 1 point). (b) By how much nearer trained grouped layers "
          "look than trained standard ones, mean attention distance in patches on Fashion-MNIST 7x7 (equivalence: 0.05 "
          "patches). Holds if both are above 0 and there is a gain with locality to begin with; refuted if each is "
          "below 0 or inside its equivalence; else undecided.",
          [](Lab& lab) {
            constexpr int64_t k = 10, k1 = 5;
            const auto options = grouped_options(4);
            Setting series = base::for_task({.name = "mnist1d"}, 64, 2, 4, 800), shuffled = series;
            shuffled.task.shuffled = true;
            const Comparison near = compare(lab, series, grouped_like(series, options), k1);
            const Comparison destroyed = compare(lab, shuffled, grouped_like(shuffled, options), k1);
            const Setting standard = base::sweep();
            const auto a = probes(lab, standard, k), b = probes(lab, grouped_like(standard, options), k);
            if (!lab.complete()) return Finding{};
            const Interval excess = excess_gain(near, destroyed);
            const Interval nearer = mean_difference(values(b, "distance"), values(a, "distance"));
            const std::string first = with_gain(claim_verdict(excess, 1), near.difference),
                              second = claim_verdict(nearer, 0.05);
            Finding f = finding_of(near);
            f.verdict = with_protocol(both(first, second), lab.seeds(k), k);
            f.effect = "excess gain " + with_range(excess, 2, true) + " points; nearer by " +
                       with_range(nearer, 3, true) + " patches";
            f.interval = "";
            f.seeds = fmt::format("{} / {}", near.seeds, lab.seeds(k));
            f.why = "Locality alone: (a) " + first + "; attention distance alone: (b) " + second + ".";
            f.tables.push_back({"MNIST-1D with and without locality",
                                comparison_header("data"),
                                {row_of("MNIST-1D", near), row_of("MNIST-1D, steps permuted", destroyed)}});
            const double uniform = attention_distance(tutti::full({1, 1, 16, 16}, 1.0 / 16), /*grid=*/true);
            Table distance{
                fmt::format("Mean attention distance (patches; if all weights were the same: {:.3f})", uniform),
                probe_header("block"),
                {}};
            for (size_t layer = 0; layer < 2; ++layer) {
              const auto of = [&](const nlohmann::json& probe) { return probe.at("distance").at(layer).get<double>(); };
              distance.rows.push_back(probe_row(fmt::format("{}", layer + 1), values(a, of), values(b, of), 3));
            }
            f.tables.push_back(distance);
            return f;
          }};
}

}  // namespace comparison
