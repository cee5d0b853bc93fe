// The task "digits": its splits, patches, and what a linear model makes of it.
#if __has_include("grouped_vs_standard/tasks/digits.h")
#include "grouped_vs_standard/tasks/digits.h"

#include "support/catch.h"
#include "support/linear_probe.h"
#include "support/task_checks.h"

using namespace comparison;

TEST_CASE("digits: shapes, splits and class counts", "[tasks]") {
  const Task task = digits({.name = "digits"});
  REQUIRE(task.tokens == 16);
  REQUIRE(task.inputs == 4);
  tutti_test::check_task(task, {.train = 1437, .test = 360, .fixed_test = true});
  REQUIRE(tutti_test::class_counts(task, 1) == std::vector<int64_t>{178, 182, 177, 183, 181, 182, 181, 179, 174, 180});
  tutti_test::check_task(digits({.name = "digits", .train = 100}), {.train = 100, .test = 360, .fixed_test = true});
}

TEST_CASE("digits: patches of 1, 2 and 4 pixels are the same pixels", "[tasks]") {
  const tutti::Tensor image = reshape(tutti::arange(0, 64), {1, 64});
  const tutti::Tensor two = digits({.name = "digits"}).tokens_of(image, false);
  REQUIRE(select(two, 1, 0).to_vector<float>() == std::vector<float>{0, 1, 8, 9});
  REQUIRE(select(two, 1, 5).to_vector<float>() == std::vector<float>{18, 19, 26, 27});
  REQUIRE(digits({.name = "digits", .patch = 1}).tokens_of(image, false).shape() == tutti::Dims{1, 64, 1});
  REQUIRE(digits({.name = "digits", .patch = 4}).tokens_of(image, false).shape() == tutti::Dims{1, 4, 16});
  REQUIRE_THROWS_WITH(digits({.name = "digits", .patch = 3}), Contains("patch is 3; expected 1, 2 or 4"));
}

TEST_CASE("digits: a linear model reaches .88", "[tasks]") {
  // Measured over ten seeds: .887 +- .005.
  const double accuracy = tutti_test::linear_probes(digits({.name = "digits"}), 3, 0.1);
  REQUIRE(accuracy > 0.86);
  REQUIRE(accuracy < 0.93);
}
#endif
