// The statistics of the comparison, and the words of its verdicts. All resampling is seeded: the same numbers every
// time.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace comparison {

struct Interval {
  double value = 0, low = 0, high = 0;  ///< the estimate and its 95 % interval
};

double mean(const std::vector<double>& x);
double standard_deviation(const std::vector<double>& x);  ///< divisor n - 1; 0 for fewer than two
double median(std::vector<double> x);

/// Mean difference (b - a, in percent points) of paired runs on one test set, from correct[seed][item] of both arms;
/// two-level bootstrap: seeds are drawn, then items, 10000 times. One seed: items alone.
Interval paired_difference(const std::vector<std::vector<uint8_t>>& a, const std::vector<std::vector<uint8_t>>& b);

/// Mean over seeds of one arm's accuracy (percent), the same two-level bootstrap.
Interval mean_accuracy(const std::vector<std::vector<uint8_t>>& correct);

/// Median of b[i] / a[i] over paired blocks, bootstrap over blocks.
Interval ratio(const std::vector<double>& a, const std::vector<double>& b);

/// "better, exceeds", "undecided, refuted", ...: the direction by the interval of grouped - standard in points
/// ("better" if low > 0, "worse" if high < 0, "equivalent" inside +-1, else "undecided"), then against the article's
/// +3.2 ("agrees" if it contains 3.2 and low > 0, "refuted" if high < 3.2, "exceeds" if low > 3.2, else "undecided").
std::string accuracy_verdict(const Interval& difference, double article);

/// `more` or `less` ("faster", "slower") or "equal" (inside +-2 %) or "undecided"; then "agrees" if the interval
/// contains the article's ratio, else "differs".
std::string ratio_verdict(const Interval& ratio, double article, const std::string& more, const std::string& less);

}  // namespace comparison
