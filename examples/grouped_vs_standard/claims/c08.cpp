#include "grouped_vs_standard/claims/base.h"

#include <fmt/format.h>

namespace comparison {

Claim c08();
Claim c08() {
  return {8, "One Linear(group_dim, group_dim) with bias per group for each of q, k and v.",
          "The layer's own count of parameters against 3 (C^2/G + C), for nine pairs of C and G.", [](Lab&) {
            Finding f;
            Table table{"Parameters of q, k and v", {"C", "G", "3 (C^2/G + C)", "counted"}, {}};
            bool equal = true;
            for (const int64_t c : {64, 128, 256})
              for (const int64_t g : {2, 4, 8}) {
                const tutti::nn::GroupedMultiHeadAttention layer(
                    {.embed_dim = c, .groups = g, .output = tutti::nn::OutputProjection::none});
                const int64_t formula = 3 * (c * c / g + c), counted = layer.parameter_count();
                equal = equal && formula == counted;
                table.rows.push_back({fmt::format("{}", c), fmt::format("{}", g), fmt::format("{}", formula),
                                      fmt::format("{}", counted)});
              }
            f.verdict = equal ? "holds" : "refuted";
            f.effect = equal ? "equal in all nine" : "differs";
            f.tables.push_back(table);
            return f;
          }};
}

}  // namespace comparison
