#include "grouped_vs_standard/claims/base.h"
#include "grouped_vs_standard/statistics/verdict.h"

namespace comparison {

// If grouping used spatial or temporal correlation, its gain would shrink when that correlation is destroyed.
Claim c03();
Claim c03() {
  return {
      3, "It suits data with spatial correlation such as images and time series.",
      "The gain over the standard layer minus the gain after one fixed permutation of the pixels (Fashion-MNIST) or of "
      "the time steps (MNIST-1D). Holds if in both that excess is above 0 and so is the gain that shrinks; refuted if "
      "in both the excess is below 0 or inside +-1 point; else undecided. (That a gain is needed was added after the "
      "first quick run.)",
      [](Lab& lab) {
        constexpr int64_t k = 10, k1 = 5;
        const auto options = grouped_options(4);
        const auto pair = [&](Setting standard, bool shuffled, int64_t seeds) {
          standard.task.shuffled = shuffled;
          return compare(lab, standard, grouped_like(standard, options), seeds);
        };
        const Setting series = base::for_task({.name = "mnist1d"}, 64, 2, 4, 800);
        const Comparison image = pair(base::sweep(), false, k), image_shuffled = pair(base::sweep(), true, k);
        const Comparison time = pair(series, false, k1), time_shuffled = pair(series, true, k1);
        if (!lab.complete()) return Finding{};
        const Interval in_images = excess_gain(image, image_shuffled), in_time = excess_gain(time, time_shuffled);
        Finding f = finding_of(image);
        const std::string a = with_gain(claim_verdict(in_images, 1), image.difference),
                          b = with_gain(claim_verdict(in_time, 1), time.difference);
        f.verdict = with_protocol(both(a, b), lab.seeds(k), k);
        f.effect =
            "excess " + with_range(in_images, 2, true) + " images; " + with_range(in_time, 2, true) + " time series";
        f.interval = "";
        f.seeds = std::to_string(image.seeds) + " / " + std::to_string(time.seeds);
        f.tables.push_back({"Gain with and without the correlation",
                            comparison_header("data"),
                            {row_of("Fashion-MNIST", image), row_of("Fashion-MNIST, pixels permuted", image_shuffled),
                             row_of("MNIST-1D", time), row_of("MNIST-1D, steps permuted", time_shuffled)}});
        return f;
      }};
}

}  // namespace comparison
