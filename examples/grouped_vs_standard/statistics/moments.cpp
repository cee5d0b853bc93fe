#include "grouped_vs_standard/statistics/moments.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tutti/core/error.h"

namespace comparison {
namespace {

void check(const char* what, const std::vector<double>& x) {
  if (x.empty()) throw tutti::ValueError(tutti::message(what, ": no values"));
}

}  // namespace

double mean(const std::vector<double>& x) {
  check("mean", x);
  return std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
}

double standard_deviation(const std::vector<double>& x) {
  check("standard_deviation", x);
  if (x.size() < 2) return 0;
  const double m = mean(x);
  double s = 0;
  for (double v : x) s += (v - m) * (v - m);
  return std::sqrt(s / static_cast<double>(x.size() - 1));
}

double median(std::vector<double> x) {
  check("median", x);
  std::sort(x.begin(), x.end());
  const size_t n = x.size();
  return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

}  // namespace comparison
