// Numbers as a CSV field holds them.
#pragma once
#include <string_view>

namespace tutti::data {

/// Without the spaces and tabs around it.
std::string_view trimmed(std::string_view s);
/// Whether all of `s` is a finite number, with a decimal point in every locale; what is nearer to 0 than any float64 is
/// 0 (std::from_chars calls it out of range and leaves no value).
bool parse_number(std::string_view s, double& value);
inline bool is_number(std::string_view s) {
  double ignored = 0;
  return parse_number(trimmed(s), ignored);
}

}  // namespace tutti::data
