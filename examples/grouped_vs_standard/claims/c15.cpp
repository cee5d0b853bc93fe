#include "grouped_vs_standard/claims/base.h"
#include "grouped_vs_standard/claims/exact.h"
#include "grouped_vs_standard/statistics/verdict.h"

namespace comparison {

using namespace tutti;

namespace {

/// The printed code computes the same whatever num_heads says.
bool heads_are_ignored() {
  const Tensor x = normal_numbers({2, 9, 32}, DType::float32, 1);
  Tensor first;
  for (const int64_t heads : {1, 4, 8}) {
    manual_seed(2);
    nn::GroupedMultiHeadAttention layer(
        {.embed_dim = 32, .num_heads = heads, .groups = 4, .head_mode = nn::HeadMode::literal});
    const Tensor y = layer(x).detach();
    if (first.defined() && !same_bits(first, y)) return false;
    first = y;
  }
  return true;
}

}  // namespace

// num_heads appears in the printed constructor and nowhere else.
Claim c15();
Claim c15() {
  return {15, "Scores are q k^T over all channels, one map; num_heads is accepted and never used.",
          "The layer with the printed single map against the same layer with one head per group, dense output, equal "
          "parameters; and the printed layer's bits for three values of num_heads. Holds (the single map is good "
          "enough) if it costs less than 1 point; refuted if it costs more than 1; else undecided.",
          [](Lab& lab) {
            constexpr int64_t k = 10;
            const auto arm = [](nn::HeadMode mode, nn::AttentionScale scale = nn::AttentionScale::group_dim) {
              auto options = grouped_options(4);
              options.head_mode = mode;
              options.scale = scale;
              return grouped_like(base::sweep(), options);
            };
            const Setting heads = arm(nn::HeadMode::heads), literal = arm(nn::HeadMode::literal);
            const Setting cooler = arm(nn::HeadMode::literal, nn::AttentionScale::embed_dim);
            const Comparison main = compare(lab, heads, literal, k);
            const Comparison cool = compare(lab, heads, cooler, k);
            const Comparison usual = compare(lab, base::sweep(), literal, k);
            if (!lab.complete()) return Finding{};
            Finding f = finding_of(main);
            f.verdict = with_protocol(no_loss_verdict(main.difference), main.seeds, k);
            f.why = heads_are_ignored() ? "num_heads = 1, 4 and 8 give the printed layer the same bits."
                                        : "num_heads changes the printed layer's result.";
            f.tables.push_back({"One map against heads",
                                comparison_header("b - a", "a (%)", "b (%)"),
                                {row_of("single map, 1/sqrt(group_dim) - heads", main),
                                 row_of("single map, 1/sqrt(embed_dim) - heads", cool),
                                 row_of("single map, 1/sqrt(group_dim) - standard layer", usual)}});
            return f;
          }};
}

}  // namespace comparison
