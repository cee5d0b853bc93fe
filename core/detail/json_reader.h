// JSON text as the readers of safetensors files meet it: objects, strings and natural numbers, read in one pass. What
// the formats do not allow is not parsed either (duplicates are seen by the callers), and no text can make it recurse.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#pragma GCC visibility push(default)
namespace tutti::detail {

class JsonReader {
 public:
  /// Errors begin with `place`: "load_safetensors: <path>: header". IoError unless the text is UTF-8.
  JsonReader(std::string place, std::string_view text);

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
  std::vector<uint64_t> numbers();
  std::string string();
  /// Any value, which nobody needs.
  void skip();
  /// IoError if there is more.
  void end();
  /// IoError that says at which byte.
  [[noreturn]] void fail(const std::string& what) const;

 private:
  uint32_t hex4();
  uint32_t code_point();
  size_t space();
  bool accept(char c);
  void expect(char c);
  const std::string place_;
  const std::string_view text_;
  size_t at_ = 0;
};

}  // namespace tutti::detail
#pragma GCC visibility pop
