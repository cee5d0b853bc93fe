// Numbers as the report prints them.
#pragma once
#include <string>

#include "grouped_vs_standard/statistics/interval.h"

namespace comparison {

/// "0.52", with `sign` "+0.52"; a dash where it is not finite.
std::string number(double value, int digits = 2, bool sign = false);

/// "[-0.10, +1.20]".
std::string range(const Interval& interval, int digits = 2, bool sign = false);

/// "+0.52 [-0.10, +1.20]".
std::string with_range(const Interval& interval, int digits = 2, bool sign = false);

/// A p value: "0.034", "< 0.001".
std::string p_value(double p);

}  // namespace comparison
