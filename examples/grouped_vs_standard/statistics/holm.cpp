#include "grouped_vs_standard/statistics/holm.h"

#include <algorithm>
#include <numeric>

#include "tutti/core/error.h"

namespace comparison {

std::vector<double> holm(const std::vector<double>& p) {
  for (double v : p)
    if (!(v >= 0 && v <= 1)) throw tutti::ValueError(tutti::message("holm: p ", v, ": must be within 0 and 1"));
  std::vector<size_t> order(p.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return p[a] < p[b]; });
  std::vector<double> adjusted(p.size());
  double most = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    most = std::max(most, std::min(1.0, static_cast<double>(p.size() - i) * p[order[i]]));
    adjusted[order[i]] = most;
  }
  return adjusted;
}

}  // namespace comparison
