#include "tutti/core/detail/environment.h"

#include <cstdlib>

#include "support/catch.h"
#include "tutti/core/error.h"

using namespace tutti;

TEST_CASE("environment: a variable is one of its words, or not set, and nothing else") {
  const char* const name = "TUTTI_TEST_OF_ENVIRONMENT";
  const auto word = [&](const char* text) {
    setenv(name, text, 1);
    return detail::environment_word(name, {"off", "on"});
  };
  unsetenv(name);
  CHECK(detail::environment_word(name, {"off", "on"}) == -1);
  CHECK(word("") == -1);
  CHECK(word("off") == 0);
  CHECK(word("on") == 1);
  CHECK_THROWS_WITH(word("On"), "TUTTI_TEST_OF_ENVIRONMENT=On: expected off or on");
  CHECK_THROWS_AS(word("o"), ValueError);
  CHECK_THROWS_WITH(detail::environment_word(name, {"now"}), "TUTTI_TEST_OF_ENVIRONMENT=o: expected now");
  unsetenv(name);
}
