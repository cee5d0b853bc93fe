// The task "arrhythmia": what is published of the data, its splits, and what a linear model makes of it.
#if __has_include("grouped_vs_standard/tasks/arrhythmia.h")
#include "grouped_vs_standard/tasks/arrhythmia.h"

#include "support/catch.h"
#include "support/linear_probe.h"
#include "support/task_checks.h"

using namespace comparison;

TEST_CASE("arrhythmia: shapes, stratified splits and class counts", "[tasks]") {
  const Task task = arrhythmia({.name = "arrhythmia"});
  REQUIRE(task.tokens == 13);
  REQUIRE(task.inputs == 22);
  tutti_test::check_task(task, {.train = 302, .test = 150});
  REQUIRE(tutti_test::class_counts(task, 1) == std::vector<int64_t>{245, 44, 15, 15, 13, 25, 3, 2, 9, 50, 4, 5, 22});
  for (const uint64_t seed : {1, 2}) {
    const Sample sample = task.sample(seed);
    REQUIRE(tutti_test::class_counts(sample.test.y, 13) ==
            std::vector<int64_t>{81, 15, 5, 5, 4, 8, 1, 1, 3, 17, 1, 2, 7});
    // The general token is padded: 15 of 22.
    const tutti::Tensor general = select(sample.train.x, 1, 0);
    REQUIRE(sum(abs(slice(general, 1, 15, 22))).item() == 0);
    REQUIRE(sum(abs(slice(general, 1, 0, 15))).item() > 0);
  }
}

TEST_CASE("arrhythmia: a linear model is above the most frequent class, which is .54", "[tasks]") {
  // Measured over ten seeds: .641 +- .024, .61 to .68.
  const double accuracy = tutti_test::linear_probes(arrhythmia({.name = "arrhythmia"}), 5, 5);
  REQUIRE(accuracy > 0.59);
  REQUIRE(accuracy < 0.73);
}
#endif
