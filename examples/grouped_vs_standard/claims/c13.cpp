#include <fmt/format.h>

#include "grouped_vs_standard/claims/trained_probe.h"
#include "grouped_vs_standard/statistics/verdict.h"

namespace comparison {

Claim c13();
Claim c13() {
  return {
      13, "At equal compute the features are richer.",
      "In mode equal_ffn (equal parameters and compute), trained on Fashion-MNIST 7x7, of the last block's output: "
      "effective rank (exp of the entropy of the covariance's eigenvalues over tokens; equivalence: 0.5) and accuracy "
      "of a linear probe of the mean token (equivalence: 1 point). Holds if the rank is higher and the probe no worse "
      "than -1 point; refuted if the rank is lower or equivalent, or the probe is below -1 point; else undecided.",
      [](Lab& lab) {
        constexpr int64_t k = 10;
        const Setting standard = base::sweep();
        const auto a = probes(lab, standard, k), b = probes(lab, grouped_like(standard, grouped_options(4)), k);
        if (!lab.complete()) return Finding{};
        const auto at = [](const char* name, size_t layer) {
          return [name, layer](const nlohmann::json& probe) { return probe.at(name).at(layer).get<double>(); };
        };
        const size_t last = static_cast<size_t>(standard.model.layers) - 1;
        const Interval rank = mean_difference(values(a, at("rank", last)), values(b, at("rank", last)));
        const Interval linear = mean_difference(values(a, at("probe", last)), values(b, at("probe", last)));
        std::string verdict = claim_verdict(rank, 0.5);
        if (linear.high < -1) verdict = "refuted";
        if (verdict == "holds" && linear.low < -1) verdict = "undecided";
        Finding f;
        f.verdict = with_protocol(verdict, lab.seeds(k), k);
        f.effect = "rank " + with_range(rank, 2, true) + "; probe " + with_range(linear, 2, true) + " points";
        f.n = "1000 / 2000";
        f.seeds = std::to_string(lab.seeds(k));
        Table table{"Output of the blocks", probe_header("measure"), {}};
        for (size_t layer = 0; layer <= last; ++layer) {
          table.rows.push_back(probe_row(fmt::format("effective rank of 64, block {}", layer + 1),
                                         values(a, at("rank", layer)), values(b, at("rank", layer))));
          table.rows.push_back(probe_row(fmt::format("linear probe (%), block {}", layer + 1),
                                         values(a, at("probe", layer)), values(b, at("probe", layer))));
        }
        f.tables.push_back(table);
        return f;
      }};
}

}  // namespace comparison
