#include "tutti/core/detail/near_name.h"

#include <algorithm>
#include <numeric>

namespace tutti::detail {
namespace {

constexpr size_t longest = 200;

/// Levenshtein's distance.
size_t distance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t exchanged = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({exchanged, diagonal + 1, row[j] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string near_name(const std::string& name, const std::vector<std::string>& names) {
  if (name.size() > longest) return {};
  size_t least = std::max<size_t>(2, name.size() / 3) + 1;
  const std::string* best = nullptr;
  for (const std::string& other : names) {
    const size_t apart = std::max(name.size(), other.size()) - std::min(name.size(), other.size());
    if (other.size() > longest || apart >= least) continue;
    if (const size_t d = distance(name, other); d < least) {
      least = d;
      best = &other;
    }
  }
  return best ? *best : std::string();
}

}  // namespace tutti::detail
