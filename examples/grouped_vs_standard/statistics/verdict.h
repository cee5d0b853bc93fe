// The words of the verdicts, by 95 % intervals alone.
#pragma once
#include <cstdint>
#include <string>

#include "grouped_vs_standard/statistics/interval.h"

namespace comparison {

/// "better, exceeds", "undecided, refuted", ...: the direction by the interval of grouped - standard in points
/// ("better" if low > 0, "worse" if high < 0, "equivalent" inside +-1, else "undecided"), then against the article's
/// +3.2 ("agrees" if it contains 3.2 and low > 0, "refuted" if high < 3.2, "exceeds" if low > 3.2, else "undecided").
std::string accuracy_verdict(const Interval& difference, double article);

/// Does the whole interval of a ratio lie within 2 % of 1?
bool is_equal(const Interval& ratio);

/// `more` or `less` ("faster", "slower") or "equal" (by is_equal) or "undecided"; then "agrees" if the interval
/// contains the article's ratio, else "differs".
std::string ratio_verdict(const Interval& ratio, double article, const std::string& more, const std::string& less);

/// The verdict on a claim that some effect is there (positive = as claimed): "holds" if low > 0, "refuted" if high < 0
/// or the interval lies inside +-equivalent (too small to matter), else "undecided". NaN: "undecided".
std::string claim_verdict(const Interval& effect, double equivalent = 0);

/// The verdict that nothing is lost, or no more than `margin`: "holds" if low > -margin, "refuted" if high < -margin,
/// else "undecided".
std::string no_loss_verdict(const Interval& difference, double margin = 1);

/// The verdict on a claim of two parts: theirs if they agree, else "undecided".
std::string both(const std::string& a, const std::string& b);

/// The verdict, with " (below protocol)" behind it if there were fewer seeds than the protocol asks for.
std::string with_protocol(const std::string& verdict, int64_t seeds, int64_t protocol);

}  // namespace comparison
