#include <fmt/format.h>

#include "grouped_vs_standard/claims/speeds.h"
#include "grouped_vs_standard/statistics/verdict.h"

namespace comparison {

Claim c20();
Claim c20() {
  return {20, "Training speed falls from 12.3 to 11.8 iterations per second (x0.959).",
          "Training steps per second in interleaved blocks, alone on the machine, for every match mode, the printed "
          "loop, and A/A (G = 1 through the grouped path, whose ratio must lie within 2 % of 1 and whose runs must be "
          "the same). Verdict by equal_ffn.",
          [](Lab& lab) {
            const Setting standard = base::headline_plain();
            const auto task = make_task(standard.task);
            Finding f;
            Table table{"Speed of a training step (4x4 patches, batch 50)",
                        {"arm", "standard (1/s)", "arm (1/s)", "ratio", "GFLOP standard", "GFLOP arm", "verdict"},
                        {}};
            const auto row = [&](const std::string& name, const Setting& a, const Setting& b) {
              const SpeedRatio s = speed_ratio(lab, a, b);
              const auto flops = [&](const Setting& x) {
                if (std::holds_alternative<examples::LoopedAttentionOptions>(x.model.attention))
                  return std::string("as strided");
                return fmt::format("{:.3f}", 3e-9 * 50 * cost_of(completed(x.model, *task)).forward_flops);
              };
              table.rows.push_back({name, number(s.a, 1), number(s.b, 1), with_range(s.ratio, 3), flops(a), flops(b),
                                    ratio_verdict(s.ratio, Article::speed_ratio, "faster", "slower")});
              return s;
            };
            SpeedRatio headline;
            for (const Match match : all_matches) {
              const auto [a, b] = matched(standard, match);
              const SpeedRatio s = row(name_of(match, {a, b}), a, b);
              if (match == Match::equal_ffn) headline = s;
            }
            Setting looped = grouped_like(standard, grouped_options(4));
            looped.model.attention = examples::LoopedAttentionOptions{.num_heads = 4, .groups = 4};
            row("equal_ffn, looped", standard, looped);
            auto same = grouped_options(1, 4);
            same.scale = tutti::nn::AttentionScale::head_dim;
            const SpeedRatio same_path = row("A/A: G = 1", standard, grouped_like(standard, same, Match::same_width));
            const bool equal = is_equal(same_path.ratio);
            table.rows.back().back() = equal ? "equal" : "not equal: this machine was disturbed";
            // The same path must also learn the same: every prediction of three runs.
            const Setting sweep = base::sweep();
            const Comparison identity = compare(lab, sweep, grouped_like(sweep, same, Match::same_width), 3);
            if (!lab.complete()) return Finding{};
            bool identical = true;
            for (size_t i = 0; i < identity.a.size(); ++i)
              identical = identical && identity.a[i].correct == identity.b[i].correct &&
                          identity.a[i].losses == identity.b[i].losses;
            f.why = identical
                        ? "A/A: every loss and prediction of the grouped path with G = 1 is the standard layer's; "
                        : "A/A FAILED: the grouped path with G = 1 does not train as the standard layer does; ";
            f.why += "its speed ratio is " + with_range(same_path.ratio, 3) +
                     ". Intervals are over the blocks of one measurement; on a machine whose cores are shared, another "
                     "one may lie outside.";
            f.verdict = ratio_verdict(headline.ratio, Article::speed_ratio, "faster", "slower") +
                        (identical && equal ? "" : " (A/A failed)");
            f.effect = "x" + number(headline.ratio.value, 3);
            f.interval = range(headline.ratio, 3);
            f.n = "20 blocks of 20 steps";
            f.tables.push_back(table);
            return f;
          }};
}

}  // namespace comparison
