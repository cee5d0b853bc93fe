#include "tutti/core/detail/utf8.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace tutti::detail {
namespace {

/// The bytes of the character that `s` (not empty) begins with; 0 if it is no UTF-8.
size_t character(std::string_view s) {
  const auto byte = [&](size_t i) { return i < s.size() ? static_cast<unsigned char>(s[i]) : 0u; };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const size_t length = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
  // The second byte's range shuts out the overlong, the surrogates and what lies beyond U+10FFFF.
  const unsigned low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  const unsigned high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  if (length == 0 || byte(1) < low || byte(1) > high) return 0;
  for (size_t i = 2; i < length; ++i)
    if (byte(i) < 0x80 || byte(i) > 0xbf) return 0;
  return length;
}

}  // namespace

size_t invalid_utf8(std::string_view s) {
  for (size_t at = 0; at < s.size();) {
    uint64_t eight = 0;
    if (s.size() - at >= sizeof eight) {  // mostly ASCII
      std::memcpy(&eight, s.data() + at, sizeof eight);
      if ((eight & 0x8080808080808080) == 0) {
        at += sizeof eight;
        continue;
      }
    }
    const size_t length = character(s.substr(at));
    if (length == 0) return at;
    at += length;
  }
  return std::string_view::npos;
}

std::string printable(std::string_view s, size_t most) {
  std::string text;
  for (size_t at = 0; at < s.size();) {
    const size_t length = character(s.substr(at));
    const auto byte = static_cast<unsigned char>(s[at]);
    const bool control = length == 1 ? byte < 0x20 || byte == 0x7f
                                     : length == 2 && byte == 0xc2 && static_cast<unsigned char>(s[at + 1]) < 0xa0;
    const bool shown = length > 0 && !control;
    if (at + std::max<size_t>(length, 1) > most) return text + "...";
    if (shown) {
      text += s.substr(at, length);
    } else {
      constexpr char digits[] = "0123456789abcdef";
      text += {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
    }
    at += shown ? length : 1;
  }
  return text;
}

}  // namespace tutti::detail
