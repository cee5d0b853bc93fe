#include "tutti/core/detail/safetensors_header.h"

#include <set>

#include "tutti/core/detail/utf8.h"
#include "tutti/core/error.h"

namespace tutti::detail {
namespace {

class Parser {
 public:
  Parser(const std::string& file, std::string_view text) : file_(file), text_(text) {}

  SafetensorsHeader header() {
    SafetensorsHeader h;
    std::set<std::string> seen;
    if (at_ = invalid_utf8(text_); at_ != text_.npos) fail("not UTF-8");
    at_ = 0;
    object([&](const std::string& key) {
      if (!seen.insert(key).second) fail("duplicate key '" + printable(key) + "'");
      if (key == "__metadata__")
        object([&](const std::string& name) {
          if (!h.metadata.emplace(name, string()).second) fail("duplicate metadata key '" + printable(name) + "'");
        });
      else
        h.tensors.push_back(entry(key));
    });
    if (space() != text_.size()) fail("more text after the closing brace");
    return h;
  }

 private:
  SafetensorsHeader::Entry entry(const std::string& name) {
    SafetensorsHeader::Entry e;
    e.name = name;
    unsigned found = 0;
    const auto once = [&](unsigned bit) {
      if (found & bit) fail("tensor '" + printable(name) + "': a field is given twice");
      found |= bit;
    };
    object([&](const std::string& field) {
      if (field == "dtype") {
        once(1);
        e.dtype = string();
      } else if (field == "shape") {
        once(2);
        for (uint64_t n : numbers()) {
          if (n > INT64_MAX) fail("tensor '" + printable(name) + "': size " + std::to_string(n) + " is too large");
          e.shape.push_back(static_cast<int64_t>(n));
        }
      } else if (field == "data_offsets") {
        once(4);
        const auto range = numbers();
        if (range.size() != 2) fail("tensor '" + printable(name) + "': data_offsets needs two numbers");
        e.begin = range[0];
        e.end = range[1];
      } else {
        fail("tensor '" + printable(name) + "': unknown field '" + printable(field) + "'");
      }
    });
    if (found != 7) fail("tensor '" + printable(name) + "': dtype, shape and data_offsets are needed");
    return e;
  }

  /// {"key": <what member(key) reads>, ...}
  template <class F>
  void object(F&& member) {
    expect('{');
    if (accept('}')) return;
    do {
      const std::string key = string();
      expect(':');
      member(key);
    } while (accept(','));
    expect('}');
  }

  /// [1, 2, ...]: natural numbers only.
  std::vector<uint64_t> numbers() {
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

  std::string string() {
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

  uint32_t hex4() {
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

  uint32_t code_point() {
    const uint32_t first = hex4();
    if (first < 0xd800 || first > 0xdfff) return first;
    if (first < 0xdc00 && text_.substr(at_, 2) == "\\u") {
      at_ += 2;
      const uint32_t second = hex4();
      if (second >= 0xdc00 && second <= 0xdfff) return 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
    }
    fail("half a surrogate pair in a string");
  }

  static void utf8(std::string& s, uint32_t c) {
    const auto put = [&](uint32_t byte) { s += static_cast<char>(byte); };
    if (c < 0x80) {
      put(c);
      return;
    }
    const int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;  // continuation bytes
    put(((0xff00u >> (more + 1)) & 0xffu) | c >> (6 * more));
    for (int i = more - 1; i >= 0; --i) put(0x80u | (c >> (6 * i) & 0x3fu));
  }

  size_t space() {
    while (at_ < text_.size() && std::string_view(" \t\n\r").find(text_[at_]) != std::string_view::npos) ++at_;
    return at_;
  }
  bool accept(char c) {
    if (space() == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail(std::string("expected '") + c + "'");
  }
  [[noreturn]] void fail(const std::string& what) const {
    throw IoError(message(file_, ": header, byte ", at_, ": ", what));
  }

  const std::string& file_;
  std::string_view text_;
  size_t at_ = 0;
};

std::string quoted(const std::string& s) {
  std::string q = "\"";
  q.reserve(s.size() + 2);
  for (const char c : s) {
    if (c == '"' || c == '\\') {
      q += '\\';
      q += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      constexpr char digits[] = "0123456789abcdef";
      q += "\\u00";
      q += digits[c >> 4];
      q += digits[c & 15];
    } else {
      q += c;
    }
  }
  return q + '"';
}

}  // namespace

SafetensorsHeader parse_safetensors_header(const std::string& file, std::string_view text) {
  return Parser(file, text).header();
}

std::string write_safetensors_header(const SafetensorsHeader& header) {
  std::string s = "{";
  if (!header.metadata.empty()) {
    s += "\"__metadata__\":{";
    for (const auto& [key, value] : header.metadata) s += quoted(key) + ':' + quoted(value) + ',';
    s.back() = '}';
    s += ',';
  }
  for (const auto& t : header.tensors) {
    s += quoted(t.name) + ":{\"dtype\":" + quoted(t.dtype) + ",\"shape\":[";
    for (size_t i = 0; i < t.shape.size(); ++i) s += (i ? "," : "") + std::to_string(t.shape[i]);
    s += "],\"data_offsets\":[" + std::to_string(t.begin) + ',' + std::to_string(t.end) + "]},";
  }
  if (s.back() == ',') s.pop_back();
  s += '}';
  s.append((8 - s.size() % 8) % 8, ' ');
  return s;
}

}  // namespace tutti::detail
