#include "grouped_vs_standard/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace comparison {
namespace {

constexpr int draws = 10000;

/// Uniform in [0, n). Not std::uniform_int_distribution, whose numbers differ between standard libraries.
size_t below(std::mt19937_64& random, size_t n) { return static_cast<size_t>((random() >> 32) * n >> 32); }

Interval percentiles(double value, std::vector<double> resampled) {
  std::sort(resampled.begin(), resampled.end());
  const auto at = [&](double share) {
    return resampled[static_cast<size_t>(share * static_cast<double>(resampled.size() - 1))];
  };
  return {value, at(0.025), at(0.975)};
}

/// Bootstrap of the mean of x[seed][item], in percent: seeds are drawn, then items (one draw of items for all seeds,
/// since they share the test set).
Interval two_level(const std::vector<std::vector<int>>& x) {
  const size_t seeds = x.size(), items = x[0].size();
  double sum = 0;
  for (const auto& row : x) sum += std::accumulate(row.begin(), row.end(), 0.0);
  std::mt19937_64 random(20);
  std::vector<double> resampled;
  std::vector<int> totals(items);
  for (int d = 0; d < draws; ++d) {
    std::fill(totals.begin(), totals.end(), 0);
    for (size_t s = 0; s < seeds; ++s) {
      const auto& row = x[below(random, seeds)];
      for (size_t i = 0; i < items; ++i) totals[i] += row[i];
    }
    int64_t drawn = 0;
    for (size_t i = 0; i < items; ++i) drawn += totals[below(random, items)];
    resampled.push_back(100.0 * static_cast<double>(drawn) / static_cast<double>(seeds * items));
  }
  return percentiles(100.0 * sum / static_cast<double>(seeds * items), std::move(resampled));
}

}  // namespace

double mean(const std::vector<double>& x) {
  return std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
}

double standard_deviation(const std::vector<double>& x) {
  if (x.size() < 2) return 0;
  const double m = mean(x);
  double s = 0;
  for (double v : x) s += (v - m) * (v - m);
  return std::sqrt(s / static_cast<double>(x.size() - 1));
}

double median(std::vector<double> x) {
  std::sort(x.begin(), x.end());
  const size_t n = x.size();
  return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

Interval paired_difference(const std::vector<std::vector<uint8_t>>& a, const std::vector<std::vector<uint8_t>>& b) {
  std::vector<std::vector<int>> difference(a.size());
  for (size_t s = 0; s < a.size(); ++s)
    for (size_t i = 0; i < a[s].size(); ++i) difference[s].push_back(int{b[s][i]} - int{a[s][i]});
  return two_level(difference);
}

Interval mean_accuracy(const std::vector<std::vector<uint8_t>>& correct) {
  std::vector<std::vector<int>> x;
  for (const auto& row : correct) x.emplace_back(row.begin(), row.end());
  return two_level(x);
}

Interval ratio(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> ratios;
  for (size_t i = 0; i < a.size(); ++i) ratios.push_back(b[i] / a[i]);
  std::mt19937_64 random(20);
  std::vector<double> resampled, drawn(ratios.size());
  for (int d = 0; d < draws; ++d) {
    for (double& v : drawn) v = ratios[below(random, ratios.size())];
    resampled.push_back(median(drawn));
  }
  return percentiles(median(ratios), std::move(resampled));
}

std::string accuracy_verdict(const Interval& d, double article) {
  const std::string direction = d.low > 0                  ? "better"
                                : d.high < 0               ? "worse"
                                : d.low > -1 && d.high < 1 ? "equivalent"
                                                           : "undecided";
  const std::string against = d.low > article                                      ? "exceeds"
                              : d.high < article                                   ? "refuted"
                              : d.low > 0 && d.low <= article && d.high >= article ? "agrees"
                                                                                   : "undecided";
  return direction + ", " + against;
}

std::string ratio_verdict(const Interval& r, double article, const std::string& more, const std::string& less) {
  const std::string direction = r.low > 0.98 && r.high < 1.02 ? "equal"
                                : r.low > 1                   ? more
                                : r.high < 1                  ? less
                                                              : "undecided";
  return direction + (r.low <= article && article <= r.high ? ", agrees" : ", differs");
}

}  // namespace comparison
