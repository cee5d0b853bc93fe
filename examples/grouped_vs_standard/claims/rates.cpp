#include "grouped_vs_standard/claims/rates.h"

#include <algorithm>

#include "grouped_vs_standard/statistics/seeds.h"

namespace comparison {

double optimum(const std::vector<double>& y) {
  const auto best = static_cast<size_t>(std::max_element(y.begin(), y.end()) - y.begin());
  if (best == 0 || best + 1 == y.size()) return static_cast<double>(best);  // at the edge: no parabola
  const double left = y[best - 1] - y[best], right = y[best + 1] - y[best];
  const double curvature = left + right;  // not positive
  return static_cast<double>(best) + (curvature < 0 ? (left - right) / (2 * curvature) : 0);
}

RateSweep rate_sweep(Lab& lab, int64_t k) {
  RateSweep s;
  for (int i = 0; i < 7; ++i) s.rates.push_back(5e-4 * (1 << i));
  for (const double rate : s.rates) {
    Setting standard = base::sweep();
    standard.task.validation = true;
    standard.training.lr = rate;
    const Comparison c = compare(lab, standard, grouped_like(standard, grouped_options(4)), k);
    s.accuracy[0].push_back(accuracies(c.a));
    s.accuracy[1].push_back(accuracies(c.b));
  }
  if (!lab.complete()) return s;
  const auto seeds = s.accuracy[0][0].size();
  s.log2_ratio = over_seeds(seeds, [&](const std::vector<size_t>& drawn) {
    double top[2];
    for (int arm = 0; arm < 2; ++arm) {
      std::vector<double> means;
      for (const auto& by_seed : s.accuracy[arm]) {
        double sum = 0;
        for (const size_t i : drawn) sum += by_seed[i];
        means.push_back(sum / static_cast<double>(drawn.size()));
      }
      top[arm] = optimum(means);
    }
    return top[1] - top[0];
  });
  return s;
}

Figure picture_of(const RateSweep& s) {
  Figure figure{.id = "learning-rates",
                .title = "Validation accuracy against the learning rate",
                .x_label = "learning rate",
                .y_label = "accuracy (%)",
                .log_x = true};
  for (int arm = 0; arm < 2; ++arm) {
    Series line{.name = arm == 0 ? "standard" : "grouped, G = 4"};
    for (size_t i = 0; i < s.rates.size(); ++i) line.add(s.rates[i], mean_over_seeds(s.accuracy[arm][i]));
    figure.series.push_back(line);
  }
  return figure;
}

}  // namespace comparison
