#include "grouped_vs_standard/claims/base.h"
#include "grouped_vs_standard/statistics/verdict.h"

namespace comparison {

// The groups can follow the modalities (two see objects, two the question) or not. For the standard layer the two
// embeddings are the same up to the order of channels, so that its difference shows the noise.
Claim c24();
Claim c24() {
  return {
      24, "It suits multimodal fusion, such as vision and text.",
      "Sort-of-CLEVR, relational, on described objects with the question beside each: what is seen is mapped to one "
      "half of the channels, text to the other, so that G = 4 groups are aligned with the modalities; against the same "
      "with the channels of both in turns. Aligned minus mixed for the grouped layer, minus the same for the standard "
      "layer. Holds if above 0; refuted if below 0 or inside +-1 point.",
      [](Lab& lab) {
        constexpr int64_t k = 5;
        using examples::Embedding;
        const auto pair = [&](Embedding embedding) {
          Setting s = base::for_task({.name = "sort_of_clevr", .variant = "relational_objects_beside"}, 64, 2, 4, 1500);
          s.model.embedding = embedding;
          return std::pair{s, grouped_like(s, grouped_options(4))};
        };
        const auto [standard_aligned, grouped_aligned] = pair(Embedding::halves);
        const auto [standard_mixed, grouped_mixed] = pair(Embedding::interleaved);
        const Comparison grouped = compare(lab, grouped_mixed, grouped_aligned, k);
        const Comparison standard = compare(lab, standard_mixed, standard_aligned, k);
        const Comparison aligned = compare(lab, standard_aligned, grouped_aligned, k);
        const Comparison mixed = compare(lab, standard_mixed, grouped_mixed, k);
        if (!lab.complete()) return Finding{};
        const Interval effect = excess_gain(grouped, standard);
        Finding f = finding_of(grouped);
        f.verdict = with_protocol(claim_verdict(effect, 1), lab.seeds(k), k);
        say_effect(f, "", effect, " points");
        f.tables.push_back({"Channels aligned with the modalities, or mixed",
                            comparison_header("layer", "mixed (%)", "aligned (%)"),
                            {row_of("standard", standard), row_of("grouped", grouped)}});
        f.tables.push_back(
            {"The two layers", comparison_header("channels"), {row_of("aligned", aligned), row_of("mixed", mixed)}});
        return f;
      }};
}

}  // namespace comparison
