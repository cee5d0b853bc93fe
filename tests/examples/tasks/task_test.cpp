// Tasks by name, their keys, and the options that a task does not have.
#if __has_include("grouped_vs_standard/tasks/task.h")
#include "grouped_vs_standard/tasks/task.h"
#include "support/catch.h"

using namespace comparison;

TEST_CASE("task: one object for equal specs, and a key that tells specs apart", "[task]") {
  const TaskSpec spec{.name = "planted", .variant = "in", .train = 10};
  REQUIRE(make_task(spec) == make_task(spec));
  REQUIRE(make_task(spec) != make_task({.name = "planted", .variant = "across", .train = 10}));
  REQUIRE(key(spec) == "planted/in train 10");
  REQUIRE(key({.name = "fashion", .patch = 7, .shuffled = true, .validation = true}) ==
          "fashion patch 7 shuffled validation");
  REQUIRE(key({.name = "a", .length = 1}) != key({.name = "a", .patch = 1}));
}

TEST_CASE("task: errors name the task, the option and what would fit", "[task]") {
  REQUIRE_THROWS_WITH(make_task({.name = "cats"}),
                      Contains("task 'cats': there is none of this name; expected") && Contains("'planted'"));
  REQUIRE_THROWS_WITH(make_task({.name = "planted"}),
                      "task planted: variant '' is none of 'in', 'across' or 'across_v'");
  REQUIRE_THROWS_WITH(make_task({.name = "planted", .variant = "in", .patch = 4}),
                      "task planted: patch is 4, but this task has none; leave it at 0");
  REQUIRE_THROWS_WITH(make_task({.name = "planted", .variant = "in", .train = -1}),
                      "task planted: train is -1; it must be positive, or 0 for the default");
  REQUIRE_THROWS_WITH(make_task({.name = "planted", .variant = "in", .shuffled = true}),
                      "task planted: shuffled is set, but this task has no shuffled form");
}
#endif
