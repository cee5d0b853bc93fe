#include <fmt/format.h>

#include <map>

#include "grouped_vs_standard/claims/scales.h"
#include "grouped_vs_standard/statistics/verdict.h"

namespace comparison {

using namespace tutti;
using nn::AttentionScale;

// The printed layer sums scores over all channels, so that 1 / sqrt(group_dim) is a factor sqrt(G) above unit spread;
// with one head per group it is the standard scale.
Claim c16();
Claim c16() {
  return {16, "Scaling by sqrt(group_dim) instead of sqrt(embed_dim) is the key to stable scores.",
          "Four scales for the printed single map, H = G and H = 2 G: spread and entropy of the scores at the start "
          "(independent unit-normal tokens), accuracy, and the largest of five rates that trains in all of 3 seeds "
          "(150 steps; last 20 losses below ln(10) / 2). Holds if group_dim beats embed_dim in accuracy as printed and "
          "at H = G, and in neither stands a smaller rate; refuted if in both the difference is below 0 or inside +-1 "
          "point and it does not stand a larger rate in both.",
          [](Lab& lab) {
            constexpr int64_t k = 10, k_rates = 3;
            constexpr AttentionScale right = AttentionScale::group_dim, other = AttentionScale::embed_dim;
            std::map<std::pair<HeadLayout, AttentionScale>, Comparison> against;  // embed_dim, where they differ
            std::map<std::pair<HeadLayout, AttentionScale>, double> rates;
            const auto chosen = [](HeadLayout heads, AttentionScale scale) {
              return scaled_options(heads, scale).scale;
            };
            for (const HeadLayout heads : head_layouts) {
              for (const AttentionScale named : all_scales) {
                const AttentionScale scale = chosen(heads, named);
                if (scale != other && !against.contains({heads, scale}))
                  against[{heads, scale}] = compare(lab, scaled_sweep(heads, other), scaled_sweep(heads, scale), k);
              }
              for (const AttentionScale scale : {right, other})
                rates[{heads, scale}] = largest_stable_rate(lab, scaled_sweep(heads, scale), k_rates);
            }
            if (!lab.complete()) return Finding{};
            Table table{"Scales (the rate only where it was sought)",
                        {"heads", "scale", "spread at the start", "entropy at the start", "accuracy (%)",
                         "against embed_dim (points)", "largest stable rate"},
                        {}};
            for (const HeadLayout heads : head_layouts)
              for (const AttentionScale named : all_scales) {
                const AttentionScale scale = chosen(heads, named);
                const nn::AttentionStats start = stats_at_start(heads, scale);
                const Comparison& c = against.at({heads, scale == other ? right : scale});
                const auto rate = rates.find({heads, named});
                table.rows.push_back({name_of(heads), nn::name_of(named), number(start.logit_spread),
                                      number(start.entropy), with_range(scale == other ? c.accuracy_a : c.accuracy_b),
                                      scale == other ? "-" : with_range(c.difference, 2, true),
                                      rate == rates.end() ? "" : fmt::format("{:g}", rate->second)});
              }
            const Comparison& as_printed = against.at({HeadLayout::literal, right});
            const Comparison& one_each = against.at({HeadLayout::one_each, right});
            const std::string printed = claim_verdict(as_printed.difference, 1),
                              aligned = claim_verdict(one_each.difference, 1);
            const auto rate = [&](HeadLayout heads, AttentionScale scale) { return rates.at({heads, scale}); };
            bool never_smaller = true, always_larger = true;
            for (const HeadLayout heads : {HeadLayout::literal, HeadLayout::one_each}) {
              never_smaller = never_smaller && rate(heads, right) >= rate(heads, other);
              always_larger = always_larger && rate(heads, right) > rate(heads, other);
            }
            Finding f = finding_of(one_each);
            const bool holds = printed == "holds" && aligned == "holds" && never_smaller;
            const bool refuted = printed == "refuted" && aligned == "refuted" && !always_larger;
            f.verdict = with_protocol(holds ? "holds" : refuted ? "refuted" : "undecided", lab.seeds(k), k);
            f.effect = "H = G " + with_range(one_each.difference, 2, true) + " points; as printed " +
                       with_range(as_printed.difference, 2, true);
            f.interval = "";
            f.why = fmt::format(
                "Spread at the start, group_dim / embed_dim: as printed {:.2f} / {:.2f}, H = G {:.2f} / {:.2f}.",
                stats_at_start(HeadLayout::literal, right).logit_spread,
                stats_at_start(HeadLayout::literal, other).logit_spread,
                stats_at_start(HeadLayout::one_each, right).logit_spread,
                stats_at_start(HeadLayout::one_each, other).logit_spread);
            f.tables.push_back(table);
            return f;
          }};
}

}  // namespace comparison
