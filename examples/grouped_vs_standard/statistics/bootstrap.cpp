#include "grouped_vs_standard/statistics/bootstrap.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

#include "grouped_vs_standard/statistics/moments.h"
#include "tutti/core/error.h"

namespace comparison {
namespace {

constexpr uint64_t seed = 20;

/// Uniform in [0, n). Not std::uniform_int_distribution, whose numbers differ between standard libraries.
size_t below(std::mt19937_64& random, size_t n) { return static_cast<size_t>((random() >> 32) * n >> 32); }

Resampled summary(double value, std::vector<double> resampled, double level) {
  std::sort(resampled.begin(), resampled.end());
  const auto at = [&](double share) {
    return resampled[static_cast<size_t>(share * static_cast<double>(resampled.size() - 1))];
  };
  const auto not_above = std::upper_bound(resampled.begin(), resampled.end(), 0.0) - resampled.begin();
  const auto not_below = resampled.end() - std::lower_bound(resampled.begin(), resampled.end(), 0.0);
  const double rarer = static_cast<double>(std::min(not_above, not_below));
  const double p = 2 * (1 + rarer) / (1 + static_cast<double>(resampled.size()));
  return {{value, at(level / 2), at(1 - level / 2)}, std::min(1.0, p)};
}

/// Bytes in words of eight, so that seeds are added eight items at a time.
using Packed = std::vector<uint64_t>;

Packed packed(const std::vector<uint8_t>& bytes) {
  Packed words((bytes.size() + 7) / 8, 0);
  std::memcpy(words.data(), bytes.data(), bytes.size());
  return words;
}

/// Bootstrap of the mean of x[seed][item] - offset, in percent: seeds are drawn, then items (one draw of items for all
/// seeds, since they share the test set). x is at most `largest`.
Resampled two_level(const Correct& x, int offset, size_t largest, double level) {
  const size_t seeds = x.size(), items = x[0].size(), most = 255 / largest;
  if (seeds > most)
    throw tutti::ValueError(tutti::message("bootstrap: ", seeds, " seeds; at most ", most, " add up in a byte"));
  std::vector<Packed> rows;
  double sum = 0;
  for (const auto& row : x) {
    sum += std::accumulate(row.begin(), row.end(), 0.0);
    rows.push_back(packed(row));
  }
  const auto percent = [&](double total) { return 100.0 * (total / static_cast<double>(seeds * items) - offset); };
  std::mt19937_64 random(seed);
  std::vector<double> resampled;
  Packed totals(rows[0].size());
  const auto* bytes = reinterpret_cast<const uint8_t*>(totals.data());
  for (int d = 0; d < bootstrap_draws; ++d) {
    std::fill(totals.begin(), totals.end(), uint64_t{0});
    for (size_t s = 0; s < seeds; ++s) {
      const Packed& row = rows[below(random, seeds)];
      for (size_t i = 0; i < row.size(); ++i) totals[i] += row[i];  // no byte exceeds 255, so none carries over
    }
    int64_t drawn = 0;
    for (size_t i = 0; i < items; i += 2) {  // two indices from one number
      const uint64_t r = random();
      drawn += bytes[(r >> 32) * items >> 32];
      if (i + 1 < items) drawn += bytes[(r & 0xffffffff) * items >> 32];
    }
    resampled.push_back(percent(static_cast<double>(drawn)));
  }
  return summary(percent(sum), std::move(resampled), level);
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

void check_paired(const std::string& what, const Correct& a, const Correct& b) {
  check(what.c_str(), a);
  check(what.c_str(), b);
  check_same((what + ": seeds").c_str(), a.size(), b.size());
  check_same((what + ": items").c_str(), a[0].size(), b[0].size());
}

}  // namespace

Resampled bootstrap(size_t n, const Statistic& of, double level) {
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
  return summary(value, std::move(resampled), level);
}

Resampled bootstrap_difference(const Correct& a, const Correct& b, double level) {
  check_paired("bootstrap_difference", a, b);
  Correct difference(a.size());  // and one, so that it is not negative
  for (size_t s = 0; s < a.size(); ++s)
    for (size_t i = 0; i < a[s].size(); ++i) difference[s].push_back(static_cast<uint8_t>(1 + b[s][i] - a[s][i]));
  return two_level(difference, 1, 2, level);
}

Resampled bootstrap_excess(const Correct& a, const Correct& b, const Correct& c, const Correct& d) {
  for (const Correct* other : {&b, &c, &d}) check_paired("bootstrap_excess", a, *other);
  Correct excess(a.size());  // and two
  for (size_t s = 0; s < a.size(); ++s)
    for (size_t i = 0; i < a[s].size(); ++i)
      excess[s].push_back(static_cast<uint8_t>(2 + (b[s][i] - a[s][i]) - (d[s][i] - c[s][i])));
  return two_level(excess, 2, 4, 0.05);
}

Resampled bootstrap_accuracy(const Correct& correct) {
  check("bootstrap_accuracy", correct);
  return two_level(correct, 0, 1, 0.05);
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
