// Warnings: redirected, and once per topic.
#include "tutti/core/warning.h"

#include <vector>

#include "support/catch.h"
#include "tutti/core/error.h"

using namespace tutti;

TEST_CASE("warnings: to the handler, once per topic, until forgotten") {
  std::vector<std::string> got;
  auto before = set_warning_handler([&](const std::string& text) { got.push_back(text); });
  forget_warnings();
  warn("a");
  warn("a");
  warn_once("topic", "b");
  warn_once("topic", "c");
  warn_once("other", "d");
  CHECK(got == std::vector<std::string>{"a", "a", "b", "d"});
  forget_warnings();
  warn_once("topic", "e");
  CHECK(got.back() == "e");

  // A handler may throw, or warn itself; one that is replaced comes back.
  auto first = set_warning_handler([](const std::string& text) { throw ValueError(text); });
  REQUIRE_THROWS_WITH(warn("too much"), "too much");
  first("direct");
  CHECK(got.back() == "direct");
  set_warning_handler([&](const std::string& text) {
    got.push_back(text);
    warn_once("inner", text + "!");
  });
  forget_warnings();
  warn("f");
  CHECK(got.back() == "f!");
  set_warning_handler(before);
  forget_warnings();
}
