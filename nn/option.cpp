#include "tutti/nn/option.h"

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
  check_positive(layer, option, value);
  if (size % value == 0) return;
  const int64_t start = value < size ? value : size;
  int64_t below = start, above = start;
  while (size % below != 0) --below;
  while (above < size && size % above != 0) ++above;
  std::string fits = message(below);
  if (above != below) fits += message(" and ", above);
  throw ValueError(message(layer, ": ", option, " = ", value, " does not divide ", whole, " = ", size,
                           "; of the numbers nearby, ", fits, above != below ? " do" : " does"));
}

}  // namespace tutti::nn
