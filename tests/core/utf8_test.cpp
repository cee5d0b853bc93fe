// UTF-8: every character is accepted, everything that Unicode's table 3-7 shuts out is not.
#include "tutti/core/detail/utf8.h"

#include "support/catch.h"

using namespace std::string_literals;
using tutti::detail::invalid_utf8;
using tutti::detail::printable;

namespace {

/// By the definition: the bits of the number, in as few bytes as hold them.
std::string encoded(unsigned c) {
  const auto low = [&](int shift) { return static_cast<char>(0x80 | (c >> shift & 0x3f)); };
  if (c < 0x80) return {static_cast<char>(c)};
  if (c < 0x800) return {static_cast<char>(0xc0 | c >> 6), low(0)};
  if (c < 0x10000) return {static_cast<char>(0xe0 | c >> 12), low(6), low(0)};
  return {static_cast<char>(0xf0 | c >> 18), low(12), low(6), low(0)};
}

}  // namespace

TEST_CASE("utf8: all code points but the surrogates, and no others") {
  for (unsigned c = 0; c < 0x120000; ++c) {
    const bool valid = c < 0x110000 && (c < 0xd800 || c > 0xdfff);
    if ((invalid_utf8("a" + encoded(c) + "b") == std::string::npos) != valid) FAIL_CHECK("code point " << c);
  }
  // All sequences of three bytes: valid ones are exactly those that take apart into encoded characters.
  size_t valid = 0;
  for (unsigned i = 0; i < 1u << 24; ++i) {
    const char s[] = {static_cast<char>(i >> 16), static_cast<char>(i >> 8), static_cast<char>(i)};
    valid += invalid_utf8({s, 3}) == std::string_view::npos;
  }
  const size_t one = 0x80, two = 0x800 - 0x80, three = 0x10000 - 0x800 - 0x800;
  CHECK(valid == one * one * one + 2 * one * two + three);
}

TEST_CASE("utf8: the first bad byte is named") {
  CHECK(invalid_utf8("") == std::string::npos);
  CHECK(invalid_utf8("Größe 日本 😀") == std::string::npos);
  CHECK(invalid_utf8("ab\xff") == 2);
  for (size_t i = 0; i < 40; ++i)  // whatever is skipped at once
    CHECK(invalid_utf8(std::string(i, 'a') + "\xff" + std::string(20, 'b')) == i);
  CHECK(invalid_utf8("ab\xc3") == 2);             // cut
  CHECK(invalid_utf8("a\xe6\x97") == 1);          // cut
  CHECK(invalid_utf8("a\xf0\x9f\x98") == 1);      // cut
  CHECK(invalid_utf8("a\x80") == 1);              // no beginning
  CHECK(invalid_utf8("a\xc0\x80") == 1);          // overlong
  CHECK(invalid_utf8("a\xe0\x9f\xbf") == 1);      // overlong
  CHECK(invalid_utf8("a\xf0\x8f\xbf\xbf") == 1);  // overlong
  CHECK(invalid_utf8("a\xed\xa0\x80") == 1);      // a surrogate
  CHECK(invalid_utf8("a\xf4\x90\x80\x80") == 1);  // beyond U+10FFFF
}

TEST_CASE("utf8: any bytes can be shown") {
  CHECK(printable("Größe 日本") == "Größe 日本");
  CHECK(printable("a\0\n\x7f\xff\xc3"s) == R"(a\x00\x0a\x7f\xff\xc3)");
  CHECK(printable("0123456789", 10) == "0123456789");
  CHECK(printable("0123456789x", 10) == "0123456789...");
  CHECK(printable("012345678ß", 10) == "012345678...");  // no half character
  CHECK(printable("0123456789\xff", 10) == "0123456789...");
  CHECK(printable("\u009b1m\u00a0") == "\\xc2\\x9b1m\u00a0");  // a terminal would obey the first
}
