// Text from files: whether it is UTF-8, and how a message shows it when it may be anything.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#pragma GCC visibility push(default)
namespace tutti::detail {

/// Where the first character begins that is no UTF-8; npos if there is none. Well-formed is what the Unicode Standard's
/// table 3-7 allows: nothing overlong, no surrogates, nothing beyond U+10FFFF.
size_t invalid_utf8(std::string_view s);

/// At most `most` bytes of `s` for a message: control characters and what is no UTF-8 as \x1b, a longer text cut with
/// "...".
std::string printable(std::string_view s, size_t most = 80);

}  // namespace tutti::detail
#pragma GCC visibility pop
