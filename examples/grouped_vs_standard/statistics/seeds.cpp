#include "grouped_vs_standard/statistics/seeds.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "grouped_vs_standard/statistics/moments.h"
#include "grouped_vs_standard/statistics/student.h"

namespace comparison {
namespace {

/// The bootstrap's result, not narrower than Student's t of the values behind it if these are few.
Resampled widened(Resampled r, const std::vector<double>& values, double level) {
  const auto n = static_cast<double>(values.size());
  if (values.size() < 2 || values.size() >= few_seeds) return r;
  const double error = standard_deviation(values) / std::sqrt(n), reach = student_quantile(level, n - 1) * error;
  r.interval.low = std::min(r.interval.low, r.interval.value - reach);
  r.interval.high = std::max(r.interval.high, r.interval.value + reach);
  if (error > 0) r.p = std::max(r.p, student_p(r.interval.value / error, n - 1));
  return r;
}

/// Percent of items, seed by seed.
std::vector<double> percent(const Correct& correct) {
  std::vector<double> list;
  for (const auto& row : correct)
    list.push_back(100 * std::accumulate(row.begin(), row.end(), 0.0) / static_cast<double>(row.size()));
  return list;
}

std::vector<double> differences(const Correct& a, const Correct& b) {
  std::vector<double> list = percent(b);
  const std::vector<double> less = percent(a);
  for (size_t i = 0; i < list.size(); ++i) list[i] -= less[i];
  return list;
}

}  // namespace

Interval over_seeds(size_t n, const Statistic& of) {
  const Resampled r = bootstrap(n, of);
  if (n < 2 || n >= few_seeds) return r.interval;
  std::vector<double> pseudo_values;
  for (size_t left_out = 0; left_out < n; ++left_out) {
    std::vector<size_t> others;
    for (size_t i = 0; i < n; ++i)
      if (i != left_out) others.push_back(i);
    const auto seeds = static_cast<double>(n);
    pseudo_values.push_back(seeds * r.interval.value - (seeds - 1) * of(others));
  }
  return widened(r, pseudo_values, 0.05).interval;
}

Interval mean_over_seeds(const std::vector<double>& values) {
  return over_seeds(values.size(), [&](const std::vector<size_t>& drawn) {
    double sum = 0;
    for (const size_t i : drawn) sum += values[i];
    return sum / static_cast<double>(drawn.size());
  });
}

Resampled accuracy_difference(const Correct& a, const Correct& b, double level) {
  return widened(bootstrap_difference(a, b, level), differences(a, b), level);
}

Interval accuracy_excess(const Correct& a, const Correct& b, const Correct& c, const Correct& d) {
  const Resampled r = bootstrap_excess(a, b, c, d);
  std::vector<double> excess = differences(a, b);
  const std::vector<double> other = differences(c, d);
  for (size_t i = 0; i < excess.size(); ++i) excess[i] -= other[i];
  return widened(r, excess, 0.05).interval;
}

Interval accuracy_over_seeds(const Correct& correct) {
  Interval i = widened(bootstrap_accuracy(correct), percent(correct), 0.05).interval;
  i.low = std::max(i.low, 0.0), i.high = std::min(i.high, 100.0);  // Student's t does not know of them
  return i;
}

Interval independent_difference(const Interval& a, const Interval& b) {
  return {a.value - b.value, a.value - b.value - std::hypot(a.value - a.low, b.high - b.value),
          a.value - b.value + std::hypot(a.high - a.value, b.value - b.low)};
}

}  // namespace comparison
