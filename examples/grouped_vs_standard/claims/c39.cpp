#include "grouped_vs_standard/claims/base.h"

#include <fmt/format.h>

#include "grouped_vs_standard/statistics/verdict.h"

namespace comparison {

Claim c39();
Claim c39() {
  return {
      39, "Grouping prevents overfitting on little data.",
      "The gain over the standard layer with 250, 500, 1000, 2000 and 5000 training images at equal parameters. Holds "
      "if the gain with 250 images is above 0 and above that with 5000; refuted if it is below 0 or inside +-1 point.",
      [](Lab& lab) {
        constexpr int64_t k = 10;
        Series gain{.name = "grouped - standard"};
        Series standard_line{.name = "standard"}, grouped_line{.name = "grouped"};
        Table table{"Gain against the number of training images", comparison_header("training images"), {}};
        std::vector<Comparison> all;
        for (const int64_t n : {250, 500, 1000, 2000, 5000}) {
          Setting standard = base::sweep();
          standard.task.train = n;
          all.push_back(compare(lab, standard, grouped_like(standard, grouped_options(4)), k));
          const Comparison& c = all.back();
          table.rows.push_back(row_of(fmt::format("{}", n), c));
          const auto images = static_cast<double>(n);
          gain.add(images, c.difference);
          standard_line.add(images, c.accuracy_a);
          grouped_line.add(images, c.accuracy_b);
        }
        if (!lab.complete()) return Finding{};
        Finding f = finding_of(all.front());
        const Interval excess = excess_gain(all.front(), all.back());
        std::string verdict = claim_verdict(all.front().difference, 1);
        if (verdict == "holds" && excess.low <= 0) verdict = excess.high < 0 ? "refuted" : "undecided";
        f.verdict = with_protocol(verdict, lab.seeds(k), k);
        f.why = "With 250 images; the gain there exceeds that with 5000 by " + with_range(excess, 2, true) + " points.";
        f.tables.push_back(table);
        f.pictures.push_back(Figure{.id = "c39-gain",
                                    .title = "Gain against training size",
                                    .x_label = "training images",
                                    .y_label = "accuracy difference (points)",
                                    .log_x = true,
                                    .series = {gain},
                                    .bands = {},
                                    .reference_y = {0, Article::gain}});
        f.pictures.push_back(Figure{.id = "c39-accuracy",
                                    .title = "Accuracy against training size",
                                    .x_label = "training images",
                                    .y_label = "test accuracy (%)",
                                    .log_x = true,
                                    .series = {standard_line, grouped_line},
                                    .bands = {}});
        return f;
      }};
}

}  // namespace comparison
