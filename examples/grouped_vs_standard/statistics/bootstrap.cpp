#include "grouped_vs_standard/statistics/bootstrap.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "grouped_vs_standard/statistics/moments.h"
#include "tutti/core/error.h"

namespace comparison {
namespace {

constexpr uint64_t seed = 20;

/// Uniform in [0, n). Not std::uniform_int_distribution, whose numbers differ between standard libraries.
size_t below(std::mt19937_64& random, size_t n) { return static_cast<size_t>((random() >> 32) * n >> 32); }

Resampled summary(double value, std::vector<double> resampled) {
  std::sort(resampled.begin(), resampled.end());
  const auto at = [&](double share) {
    return resampled[static_cast<size_t>(share * static_cast<double>(resampled.size() - 1))];
  };
  const auto not_above = std::upper_bound(resampled.begin(), resampled.end(), 0.0) - resampled.begin();
  const auto not_below = resampled.end() - std::lower_bound(resampled.begin(), resampled.end(), 0.0);
  const double rarer = static_cast<double>(std::min(not_above, not_below));
  const double p = 2 * (1 + rarer) / (1 + static_cast<double>(resampled.size()));
  return {{value, at(0.025), at(0.975)}, std::min(1.0, p)};
}

/// Bootstrap of the mean of x[seed][item], in percent: seeds are drawn, then items (one draw of items for all seeds,
/// since they share the test set).
Resampled two_level(const std::vector<std::vector<int>>& x) {
  const size_t seeds = x.size(), items = x[0].size();
  double sum = 0;
  for (const auto& row : x) sum += std::accumulate(row.begin(), row.end(), 0.0);
  std::mt19937_64 random(seed);
  std::vector<double> resampled;
  std::vector<int> totals(items);
  for (int d = 0; d < bootstrap_draws; ++d) {
    std::fill(totals.begin(), totals.end(), 0);
    for (size_t s = 0; s < seeds; ++s) {
      const auto& row = x[below(random, seeds)];
      for (size_t i = 0; i < items; ++i) totals[i] += row[i];
    }
    int64_t drawn = 0;
    for (size_t i = 0; i < items; ++i) drawn += totals[below(random, items)];
    resampled.push_back(100.0 * static_cast<double>(drawn) / static_cast<double>(seeds * items));
  }
  return summary(100.0 * sum / static_cast<double>(seeds * items), std::move(resampled));
}

void check_same(const char* what, size_t a, size_t b) {
  if (a != b) throw tutti::ValueError(tutti::message(what, ": ", a, " and ", b, " of the two arms, which are paired"));
}

void check(const char* what, const Correct& x) {
  if (x.empty() || x[0].empty()) throw tutti::ValueError(tutti::message(what, ": no seeds or no items"));
  for (const auto& row : x)
    if (row.size() != x[0].size())
      throw tutti::ValueError(
          tutti::message(what, ": seeds with ", x[0].size(), " and ", row.size(), " items; all share one test set"));
}

}  // namespace

Resampled bootstrap(size_t n, const std::function<double(const std::vector<size_t>& drawn)>& of) {
  if (n == 0) throw tutti::ValueError("bootstrap: no values");
  std::vector<size_t> drawn(n);
  std::iota(drawn.begin(), drawn.end(), size_t{0});
  const double value = of(drawn);
  std::mt19937_64 random(seed);
  std::vector<double> resampled;
  for (int d = 0; d < bootstrap_draws; ++d) {
    for (size_t& i : drawn) i = below(random, n);
    resampled.push_back(of(drawn));
  }
  return summary(value, std::move(resampled));
}

Resampled bootstrap_mean(const std::vector<double>& values) {
  return bootstrap(values.size(), [&](const std::vector<size_t>& drawn) {
    double sum = 0;
    for (size_t i : drawn) sum += values[i];
    return sum / static_cast<double>(values.size());
  });
}

Resampled bootstrap_difference(const Correct& a, const Correct& b) {
  check("paired_difference", a);
  check("paired_difference", b);
  check_same("paired_difference: seeds", a.size(), b.size());
  check_same("paired_difference: items", a[0].size(), b[0].size());
  std::vector<std::vector<int>> difference(a.size());
  for (size_t s = 0; s < a.size(); ++s)
    for (size_t i = 0; i < a[s].size(); ++i) difference[s].push_back(int{b[s][i]} - int{a[s][i]});
  return two_level(difference);
}

Interval paired_difference(const Correct& a, const Correct& b) { return bootstrap_difference(a, b).interval; }

Interval mean_accuracy(const Correct& correct) {
  check("mean_accuracy", correct);
  std::vector<std::vector<int>> x;
  for (const auto& row : correct) x.emplace_back(row.begin(), row.end());
  return two_level(x).interval;
}

Interval ratio(const std::vector<double>& a, const std::vector<double>& b) {
  check_same("ratio: blocks", a.size(), b.size());
  std::vector<double> ratios, chosen(a.size());
  for (size_t i = 0; i < a.size(); ++i) ratios.push_back(b[i] / a[i]);
  return bootstrap(ratios.size(),
                   [&](const std::vector<size_t>& drawn) {
                     for (size_t i = 0; i < drawn.size(); ++i) chosen[i] = ratios[drawn[i]];
                     return median(chosen);
                   })
      .interval;
}

}  // namespace comparison
