#include "tutti/nn/data/detail/csv_number.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>

namespace tutti::data {
namespace {

/// Of a number beyond float64's range: whether it is too near to 0, not too large.
bool is_tiny(std::string_view s) {
  const size_t e = std::min(s.find_first_of("eE"), s.size());
  int64_t exponent = 0;
  if (e < s.size()) {
    std::string_view digits = s.substr(e + 1);
    if (digits.starts_with('+')) digits.remove_prefix(1);
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
    if (read.ec != std::errc()) exponent = digits.starts_with('-') ? INT64_MIN : INT64_MAX;
    exponent = std::clamp(exponent, INT64_MIN / 2, INT64_MAX / 2);  // the digits' places are added to it
  }
  std::string_view mantissa = s.substr(0, e);
  if (mantissa.starts_with('-')) mantissa.remove_prefix(1);
  const auto point = static_cast<int64_t>(std::min(mantissa.find('.'), mantissa.size()));
  const auto first = static_cast<int64_t>(mantissa.find_first_not_of("0."));
  return exponent + point - first < 0;  // some hundreds away from 0 either way
}

}  // namespace

std::string_view trimmed(std::string_view s) {
  const auto blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!s.empty() && blank(s.front())) s.remove_prefix(1);
  while (!s.empty() && blank(s.back())) s.remove_suffix(1);
  return s;
}

bool parse_number(std::string_view s, double& value) {
  if (s.starts_with('+') && !s.starts_with("+-")) s.remove_prefix(1);
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), value);
  if (end != s.data() + s.size()) return false;
  if (error == std::errc::result_out_of_range && is_tiny(s)) {
    value = s.starts_with('-') ? -0.0 : 0.0;
    return true;
  }
  return error == std::errc() && std::isfinite(value);
}

}  // namespace tutti::data
