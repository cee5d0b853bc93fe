#include "grouped_vs_standard/statistics/mcnemar.h"

#include <algorithm>
#include <cmath>

#include "tutti/core/error.h"

namespace comparison {
namespace {

constexpr int64_t few = 25;

/// P(X <= k) for X ~ B(n, 1/2); n is small, so the plain sum is exact enough.
double binomial_half(int64_t k, int64_t n) {
  double term = std::pow(0.5, static_cast<double>(n)), sum = 0;
  for (int64_t i = 0; i <= k; ++i) {
    sum += term;
    term *= static_cast<double>(n - i) / static_cast<double>(i + 1);
  }
  return sum;
}

}  // namespace

McNemar mcnemar(int64_t only_a, int64_t only_b) {
  if (only_a < 0 || only_b < 0)
    throw tutti::ValueError(tutti::message("mcnemar: counts ", only_a, " and ", only_b, ": must not be negative"));
  const int64_t n = only_a + only_b;
  if (n < few) return {only_a, only_b, std::min(1.0, 2 * binomial_half(std::min(only_a, only_b), n)), true};
  const double excess = std::max<double>(0, static_cast<double>(std::abs(only_a - only_b)) - 1);
  return {only_a, only_b, std::erfc(excess / std::sqrt(2 * static_cast<double>(n))), false};
}

McNemar mcnemar(const std::vector<uint8_t>& a, const std::vector<uint8_t>& b) {
  if (a.size() != b.size())
    throw tutti::ValueError(tutti::message("mcnemar: ", a.size(), " and ", b.size(), " items; they are paired"));
  int64_t only_a = 0, only_b = 0;
  for (size_t i = 0; i < a.size(); ++i) only_a += a[i] && !b[i], only_b += b[i] && !a[i];
  return mcnemar(only_a, only_b);
}

Interval difference(const McNemar& m, int64_t items) {
  if (items < std::max<int64_t>(1, m.only_a + m.only_b))
    throw tutti::ValueError(tutti::message("difference: items ", items, ": fewer than the ", m.only_a + m.only_b,
                                           " that the two disagree on, or none"));
  const double n = static_cast<double>(items), gain = static_cast<double>(m.only_b - m.only_a);
  const double half = 1.959963984540054 * std::sqrt(static_cast<double>(m.only_a + m.only_b) - gain * gain / n) / n;
  return {100 * gain / n, 100 * (gain / n - half), 100 * (gain / n + half)};
}

}  // namespace comparison
