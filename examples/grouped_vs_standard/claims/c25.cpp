#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "grouped_vs_standard/claims/recall_lengths.h"
#include "grouped_vs_standard/statistics/seeds.h"
#include "grouped_vs_standard/statistics/verdict.h"

namespace comparison {
namespace {

/// One curve: a data set at growing T.
struct Curve {
  std::string name;
  std::vector<int64_t> tokens;
  std::vector<Comparison> comparisons;
};

/// Both layers, dense or with a sliding window of a quarter of the tokens (each sees that many on both sides). The
/// standard layer in that form is the grouped one with G = 1, which equals it bit for bit (C1).
Comparison both(Lab& lab, const Setting& standard, int64_t tokens, bool window, int64_t k) {
  auto grouped = grouped_options(4);
  if (!window) return compare(lab, standard, grouped_like(standard, grouped), k);
  grouped.sparsity = {.pattern = tutti::nn::Sparsity::sliding_window, .window = tokens / 4};
  auto one = grouped_options(1, 4);
  one.scale = tutti::nn::AttentionScale::head_dim;
  one.sparsity = grouped.sparsity;
  return compare(lab, with_attention(standard, one, /*equal_parameters=*/false), grouped_like(standard, grouped), k);
}

Series series_of(const Curve& curve) {
  Series s{.name = curve.name};
  for (size_t i = 0; i < curve.tokens.size(); ++i)
    s.add(static_cast<double>(curve.tokens[i]), curve.comparisons[i].difference);
  return s;
}

}  // namespace

Claim c25();
Claim c25() {
  return {
      25, "It suits long sequences, where groups catch local dependencies.",
      "Gain over the standard layer against T: Fashion-MNIST in patches of 7, 4, 2 (T 16, 49, 196; one layer, 400 "
      "steps) and associative recall over 64 and 128 tokens (600 steps each); dense, and the images with a sliding "
      "window of T/4 too. Effect: the gain at the largest T minus that at the smallest, dense. Holds if for both it is "
      "above 0 and so is the gain at the largest T; refuted if for both it is below 0 or inside +-1 point; else "
      "undecided. (That a gain is needed was added after the first quick run.)",
      [](Lab& lab) {
        constexpr int64_t k_images = 5;
        std::array<Curve, 3> curves = {
            {{"images, dense", {}, {}}, {"images, sliding window", {}, {}}, {"recall, dense", {}, {}}}};
        for (const int64_t patch : {7, 4, 2}) {
          const int64_t tokens = (28 / patch) * (28 / patch);
          const Setting s = base::for_task({.name = "fashion", .patch = patch}, 64, 1, 4, 400);
          for (const bool window : {false, true}) {
            Curve& curve = curves[window ? 1 : 0];
            curve.tokens.push_back(tokens);
            curve.comparisons.push_back(both(lab, s, tokens, window, k_images));
          }
        }
        for (const int64_t length : recall_lengths) {
          curves[2].tokens.push_back(length);
          curves[2].comparisons.push_back(both(lab, recall_setting(length), length, /*window=*/false, recall_seeds));
        }
        if (!lab.complete()) return Finding{};
        const auto& [images, windowed, recall] = curves;
        const Interval more = excess_gain(images.comparisons.back(), images.comparisons.front());
        // Other tokens are other questions: the two lengths share no test items.
        const Interval recalls =
            independent_difference(recall.comparisons.back().difference, recall.comparisons.front().difference);
        const std::string a = with_gain(claim_verdict(more, 1), images.comparisons.back().difference),
                          b = with_gain(claim_verdict(recalls, 1), recall.comparisons.back().difference);
        Finding f;
        f.verdict = with_protocol(both(a, b), lab.seeds(k_images), k_images);
        f.effect =
            "gain grows by " + with_range(more, 2, true) + " images; " + with_range(recalls, 2, true) + " recall";
        f.seeds = fmt::format("{} / {}", lab.seeds(k_images), lab.seeds(recall_seeds));
        Table table{"Gain against the number of tokens", comparison_header("data"), {}};
        table.header.push_back("parameters differ by (%)");
        const auto figure = [](const std::string& id, const std::string& what) {
          return Figure{.id = id,
                        .title = "Gain against the number of tokens: " + what,
                        .x_label = "tokens T",
                        .y_label = "accuracy difference (points)",
                        .log_x = true,
                        .reference_y = {0, Article::gain}};
        };
        Figure of_images = figure("c25-images", "images"), of_recall = figure("c25-recall", "associative recall");
        of_images.series = {series_of(images), series_of(windowed)};
        of_recall.series = {series_of(recall)};
        for (const Curve& curve : curves) {
          for (size_t i = 0; i < curve.tokens.size(); ++i) {
            table.rows.push_back(row_of(fmt::format("{}, T {}", curve.name, curve.tokens[i]), curve.comparisons[i]));
            table.rows.back().push_back(number(parameter_gap(curve.comparisons[i]), 3, true));
          }
        }
        f.tables.push_back(table);
        f.pictures = {of_images, of_recall};
        return f;
      }};
}

}  // namespace comparison
