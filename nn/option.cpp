#include "tutti/nn/option.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "tutti/core/error.h"

namespace tutti::nn {

void check_positive(const char* layer, const char* option, int64_t value) {
  if (value < 1) throw ValueError(message(layer, ": ", option, " is ", value, "; it must be at least 1"));
}

void check_probability(const char* layer, const char* option, double value) {
  if (!(value >= 0 && value <= 1))
    throw ValueError(message(layer, ": ", option, " is ", value, "; it must be between 0 and 1"));
}

void check_divides(const char* layer, const char* option, int64_t value, const char* whole, int64_t size) {
  check_divides(layer, option, value, whole, size, {"", [](int64_t) { return true; }});
}

void check_divides(const char* layer, const char* option, int64_t value, const char* whole, int64_t size,
                   const Advisable& advisable) {
  check_positive(layer, option, value);
  if (size % value == 0) return;
  const auto good = [&](int64_t n) { return size % n == 0 && advisable.fits(n); };
  int64_t below = std::min(value, size), above = below;
  while (below > 0 && !good(below)) --below;
  while (above <= size && !good(above)) ++above;
  std::vector<int64_t> fits;
  if (below > 0) fits.push_back(below);
  if (above <= size && above != below) fits.push_back(above);
  std::string advice;
  for (int64_t n : fits) advice += message(advice.empty() ? "" : " and ", n);
  throw ValueError(message(layer, ": ", option, " = ", value, " does not divide ", whole, " = ", size,
                           "; of the numbers nearby", advisable.such_as.empty() ? "" : " that ", advisable.such_as,
                           ", ", advice, fits.size() > 1 ? " do" : " does"));
}

void check_multiple(const char* layer, const char* option, int64_t value, const char* part, int64_t size,
                    int64_t step) {
  if (value % size == 0) return;
  const int64_t below = value / step * step;
  throw ValueError(message(layer, ": ", option, " = ", value, " is no multiple of ", part, " = ", size,
                           "; of the numbers nearby, ", below > 0 ? message(below, " and ") : "", below + step,
                           below > 0 ? " are" : " is"));
}

void check_eps(const char* layer, const char* option, double value) {
  if (!(value >= 0 && std::isfinite(value)))
    throw ValueError(message(layer, ": ", option, " is ", value, "; it must be finite and not negative"));
}

}  // namespace tutti::nn
