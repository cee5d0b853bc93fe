#include "grouped_vs_standard/report/axis.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "grouped_vs_standard/report/svg.h"

namespace comparison {
namespace {

/// The smallest of 1, 2, 2.5, 5 times a power of ten that is at least `step`.
double round_step(double step) {
  const double power = std::pow(10.0, std::floor(std::log10(step)));
  for (double factor : {1.0, 2.0, 2.5, 5.0})
    if (factor * power >= step * (1 - 1e-9)) return factor * power;
  return 10 * power;
}

std::vector<Tick> linear_ticks(double low, double high, double count) {
  const double step = round_step((high - low) / std::max(1.0, count));
  std::vector<Tick> ticks;
  const double first = std::ceil(low / step - 1e-9), last = std::floor(high / step + 1e-9);
  for (double i = first; i <= last; ++i) {
    const double value = i == 0 ? 0 : i * step;
    ticks.push_back({value, tick_label(value)});
  }
  return ticks;
}

std::vector<Tick> log_ticks(double low, double high, double count) {
  const double decades = std::log10(high / low);
  const int every = std::max(1, static_cast<int>(std::ceil(decades / std::max(1.0, count))));
  const bool between = count >= 3 * decades;
  std::vector<Tick> ticks;
  for (int d = static_cast<int>(std::floor(std::log10(low))); d <= std::ceil(std::log10(high)); ++d)
    for (double factor : {1.0, 2.0, 5.0}) {
      const double value = factor * std::pow(10.0, d);
      if (value < low * (1 - 1e-9) || value > high * (1 + 1e-9)) continue;
      if (factor == 1 ? d % every == 0 : between) ticks.push_back({value, tick_label(value)});
    }
  return ticks;
}

}  // namespace

std::string tick_label(double v) {
  const double size = std::fabs(v);
  if (v == 0) return "0";
  if ((size >= 1e-3 && size < 1e6)) return fmt::format("{:.6g}", v);
  std::string s = fmt::format("{:.3e}", v);  // 3.000e-04
  const size_t e = s.find('e');
  std::string digits = s.substr(0, e);
  while (digits.back() == '0') digits.pop_back();
  if (digits.back() == '.') digits.pop_back();
  return fmt::format("{}e{}", digits, std::stoi(s.substr(e + 1)));
}

Axis::Axis(double low, double high, bool log, double first, double last)
    : low_(low), high_(high), first_(first), last_(last), log_(log) {
  if (!std::isfinite(low) || !std::isfinite(high) || (log && low <= 0)) low_ = log ? 1 : 0, high_ = log ? 10 : 1;
  if (high_ > low_) return;
  const double room = log ? 2 : low_ == 0 ? 1 : std::fabs(low_) / 10;
  high_ = log ? low_ * room : low_ + room;
  low_ = log ? low_ / room : low_ - room;
}

double Axis::at(double v) const {
  const double share = log_ ? std::log(v / low_) / std::log(high_ / low_) : (v - low_) / (high_ - low_);
  return first_ + share * (last_ - first_);
}

bool Axis::shows(double v) const { return std::isfinite(v) && (!log_ || v > 0); }

std::vector<Tick> Axis::ticks(double spacing) const {
  const double count = std::fabs(last_ - first_) / spacing;
  if (!log_) return linear_ticks(low_, high_, count);
  auto ticks = log_ticks(low_, high_, count);
  return ticks.size() >= 3 ? ticks : linear_ticks(low_, high_, count);
}

std::vector<Tick> Axis::ticks_at(const std::vector<double>& values, double size) const {
  std::vector<double> sorted(values);
  std::sort(sorted.begin(), sorted.end());
  std::vector<Tick> ticks;
  double taken = -1e9;
  for (double v : sorted) {
    const std::string exact = tick_label(v);  // a measured value may have many digits; three say where it is
    ticks.push_back({v, exact.size() > 5 && v < 1000 ? fmt::format("{:.3g}", v) : exact});
    const double half = text_width(ticks.back().label, size) / 2, middle = at(v);
    if (middle - half < taken + 6)
      ticks.back().label.clear();
    else
      taken = middle + half;
  }
  return ticks;
}

}  // namespace comparison
