#include "tutti/core/detail/json_reader.h"

#include <algorithm>

#include "tutti/core/detail/utf8.h"
#include "tutti/core/error.h"

namespace tutti::detail {
namespace {

void utf8(std::string& s, uint32_t c) {
  const auto put = [&](uint32_t byte) { s += static_cast<char>(byte); };
  if (c < 0x80) {
    put(c);
    return;
  }
  const int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;  // continuation bytes
  put(((0xff00u >> (more + 1)) & 0xffu) | c >> (6 * more));
  for (int i = more - 1; i >= 0; --i) put(0x80u | (c >> (6 * i) & 0x3fu));
}

}  // namespace

JsonReader::JsonReader(std::string place, std::string_view text) : place_(std::move(place)), text_(text) {
  if (at_ = invalid_utf8(text_); at_ != text_.npos) fail("not UTF-8");
  at_ = 0;
}

std::vector<uint64_t> JsonReader::numbers() {
  std::vector<uint64_t> list;
  expect('[');
  if (accept(']')) return list;
  do {
    space();
    const size_t start = at_;
    uint64_t n = 0;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') {
      const auto digit = static_cast<uint64_t>(text_[at_++] - '0');
      if (__builtin_mul_overflow(n, uint64_t{10}, &n) || __builtin_add_overflow(n, digit, &n))
        fail("a number is too large");
    }
    if (at_ == start) fail("expected a number that is not negative");
    if (text_[start] == '0' && at_ > start + 1) fail("a number begins with 0");
    list.push_back(n);
  } while (accept(','));
  expect(']');
  return list;
}

std::string JsonReader::string() {
  expect('"');
  std::string s;
  while (at_ < text_.size()) {
    const char c = text_[at_++];
    if (c == '"') return s;
    if (static_cast<unsigned char>(c) < 0x20) fail("a control character in a string");
    if (c != '\\') {
      s += c;
      continue;
    }
    const char escape = at_ < text_.size() ? text_[at_++] : '\0';
    constexpr std::string_view from = "\"\\/bfnrt", to = "\"\\/\b\f\n\r\t";
    if (const size_t i = from.find(escape); i != from.npos)
      s += to[i];
    else if (escape == 'u')
      utf8(s, code_point());
    else
      fail("an unknown escape in a string");
  }
  fail("a string without end");
}

uint32_t JsonReader::hex4() {
  uint32_t value = 0;
  for (int i = 0; i < 4; ++i) {
    constexpr std::string_view digits = "0123456789abcdef";
    const char c = at_ < text_.size() ? text_[at_++] : '\0';
    const size_t digit = digits.find(c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c);
    if (digit == digits.npos) fail("an unknown escape in a string");
    value = value << 4 | static_cast<uint32_t>(digit);
  }
  return value;
}

uint32_t JsonReader::code_point() {
  const uint32_t first = hex4();
  if (first < 0xd800 || first > 0xdfff) return first;
  if (first < 0xdc00 && text_.substr(at_, 2) == "\\u") {
    at_ += 2;
    const uint32_t second = hex4();
    if (second >= 0xdc00 && second <= 0xdfff) return 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
  }
  fail("half a surrogate pair in a string");
}

size_t JsonReader::space() {
  while (at_ < text_.size() && std::string_view(" \t\n\r").find(text_[at_]) != std::string_view::npos) ++at_;
  return at_;
}
bool JsonReader::accept(char c) {
  if (space() == text_.size() || text_[at_] != c) return false;
  ++at_;
  return true;
}
void JsonReader::expect(char c) {
  if (!accept(c)) fail(std::string("expected '") + c + "'");
}

void JsonReader::skip() {
  std::string open;  // brackets
  do {
    space();
    const char c = at_ < text_.size() ? text_[at_] : '\0';
    if (c == '"') {
      string();
    } else if (c == '{' || c == '[') {
      open += c;
      ++at_;
    } else if (c == '}' || c == ']') {
      if (open.empty() || open.back() != (c == '}' ? '{' : '[')) fail("expected a value");
      open.pop_back();
      ++at_;
    } else if (!open.empty() && (c == ',' || c == ':')) {
      ++at_;
    } else {
      const size_t end = std::min(text_.find_first_not_of("+-.0123456789Eaeflnrstu", at_), text_.size());
      if (end == at_) fail("expected a value");
      at_ = end;
    }
  } while (!open.empty());
}

void JsonReader::end() {
  if (space() != text_.size()) fail("more text after the closing brace");
}

void JsonReader::fail(const std::string& what) const { throw IoError(message(place_, ", byte ", at_, ": ", what)); }

}  // namespace tutti::detail
