#include "grouped_vs_standard/report/format.h"

#include <cmath>

#include <fmt/format.h>

namespace comparison {

std::string number(double value, int digits, bool sign) {
  if (!std::isfinite(value)) return "–";
  const double unit = std::pow(10.0, -digits);
  if (std::fabs(value) < unit / 2) value = 0;  // never "-0.00"
  return sign ? fmt::format("{:+.{}f}", value, digits) : fmt::format("{:.{}f}", value, digits);
}

std::string range(const Interval& i, int digits, bool sign) {
  return "[" + number(i.low, digits, sign) + ", " + number(i.high, digits, sign) + "]";
}

std::string with_range(const Interval& i, int digits, bool sign) {
  return number(i.value, digits, sign) + " " + range(i, digits, sign);
}

std::string p_value(double p) {
  if (!std::isfinite(p)) return "–";
  return p < 0.001 ? "< 0.001" : fmt::format("{:.3f}", p);
}

}  // namespace comparison
