#include <fmt/format.h>

#include "grouped_vs_standard/claims/speeds.h"

namespace comparison {
namespace {

using namespace tutti;

/// The largest difference between the looped layer and the strided one with the same weights, over the largest value.
double difference() {
  manual_seed(3);
  const no_grad off;
  examples::LoopedAttention looped({.embed_dim = 64, .num_heads = 4, .groups = 4});
  nn::GroupedMultiHeadAttention strided({.embed_dim = 64, .num_heads = 4, .groups = 4});
  const std::vector<nn::Linear>* from[] = {&looped.q, &looped.k, &looped.v};
  for (int64_t p = 0; p < 3; ++p)
    for (int64_t g = 0; g < 4; ++g) {
      const nn::Linear& linear = (*from[p])[static_cast<size_t>(g)];
      copy_(select(select(strided.weight, 0, p), 0, g), linear.weight);
      copy_(slice(strided.bias, 0, p * 64 + g * 16, p * 64 + (g + 1) * 16), linear.bias);
    }
  auto& out = std::get<nn::Linear>(strided.out);
  copy_(out.weight, looped.out.weight);
  copy_(out.bias, looped.out.bias);
  const Tensor x = randn({2, 9, 64}), a = looped(x), b = strided(x);
  return max(abs(a - b)).item() / max(abs(a)).item();
}

}  // namespace

Claim c14();
Claim c14() {
  return {14, "view(B, T, G, g), a projection per group in a loop, then concatenation.",
          "The printed loop (`looped`) against the strided layer with the same weights: results within 1e-5; and the "
          "speed of a training step of both. Holds if they agree.",
          [](Lab& lab) {
            const Setting strided = grouped_like(base::headline_plain(), grouped_options(4));
            Setting looped = strided;
            looped.model.attention = examples::LoopedAttentionOptions{.num_heads = 4, .groups = 4};
            const SpeedRatio speed = speed_ratio(lab, looped, strided);
            if (!lab.complete()) return Finding{};
            const double apart = difference();
            Finding f;
            f.verdict = apart < 1e-5 ? "holds" : "refuted";
            f.effect = fmt::format("largest relative difference {:.1e}", apart);
            f.why = fmt::format("The strided layer makes {:.1f} steps/s, the loop {:.1f}: {} times as fast.", speed.b,
                                speed.a, with_range(speed.ratio));
            return f;
          }};
}

}  // namespace comparison
