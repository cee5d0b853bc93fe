// What a piece of code warns of.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "tutti/core/warning.h"

namespace tutti_test {

/// The warnings of body, in order; nothing of what was warned of before is remembered.
inline std::vector<std::string> warnings_of(const std::function<void()>& body) {
  std::vector<std::string> got;
  tutti::forget_warnings();
  struct Restore {
    tutti::WarningHandler before;
    ~Restore() { tutti::set_warning_handler(std::move(before)); }
  } const restore{tutti::set_warning_handler([&](const std::string& text) { got.push_back(text); })};
  body();
  return got;
}

using Texts = std::vector<std::string>;

}  // namespace tutti_test
