#include "grouped_vs_standard/claims/tuned.h"

#include <algorithm>

#include "grouped_vs_standard/statistics/moments.h"

namespace comparison {

TunedHeadline tuned_headline(Lab& lab) {
  TunedHeadline t{.rates = {1e-3, 3e-3, 6e-3, 1.2e-2}};
  const Setting standard = base::headline_tuned();
  t.arms = {standard, grouped_like(standard, grouped_options(4))};
  if (lab.quick()) t.rates.clear();  // no trials: both at the usual rate
  for (size_t arm = 0; arm < 2; ++arm) {
    for (const double rate : t.rates) {
      Setting trial = t.arms[arm];
      trial.task.validation = true;
      trial.training.lr = rate;
      t.accuracy[arm].push_back(mean(accuracies(lab.train(trial, 2, 101))));
    }
    const auto best = std::max_element(t.accuracy[arm].begin(), t.accuracy[arm].end());
    if (lab.complete() && !t.rates.empty())
      t.arms[arm].training.lr = t.rates[static_cast<size_t>(best - t.accuracy[arm].begin())];
  }
  return t;
}

Comparison compare_tuned(Lab& lab, const TunedHeadline& tuned) {
  if (!lab.complete()) return {};
  const Comparison ten = compare(lab, tuned.arms[0], tuned.arms[1], tuned_seeds);
  if (!lab.complete() || std::max(standard_deviation(accuracies(ten.a)), standard_deviation(accuracies(ten.b))) <= 1.5)
    return ten;
  return compare(lab, tuned.arms[0], tuned.arms[1], 2 * tuned_seeds);
}

}  // namespace comparison
