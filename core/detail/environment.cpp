#include "tutti/core/detail/environment.h"

#include <cstdlib>
#include <string>

#include "tutti/core/error.h"

namespace tutti {

int detail::environment_word(const char* name, std::initializer_list<std::string_view> words) {
  const char* const text = std::getenv(name);
  if (!text || !*text) return -1;
  std::string expected;
  int at = 0;
  for (const std::string_view word : words) {
    if (word == text) return at;
    expected += (at++ ? " or " : "") + std::string(word);
  }
  throw ValueError(message(name, "=", text, ": expected ", std::string_view(expected)));
}

}  // namespace tutti
