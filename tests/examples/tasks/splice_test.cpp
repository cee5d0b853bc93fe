// The task "splice": what is published of the data, its splits, and what a linear model makes of it.
#if __has_include("grouped_vs_standard/tasks/splice.h")
#include "grouped_vs_standard/tasks/splice.h"

#include "support/catch.h"
#include "support/linear_probe.h"
#include "support/task_checks.h"

using namespace comparison;

TEST_CASE("splice: shapes, splits and class counts", "[tasks]") {
  const Task task = splice({.name = "splice"});
  REQUIRE(task.tokens == 60);
  REQUIRE(task.symbols == 4);
  tutti_test::check_task(task, {.train = 400, .test = 1186});
  const Task whole = splice({.name = "splice", .train = 2000});
  REQUIRE(tutti_test::class_counts(whole, 1) == std::vector<int64_t>{767, 765, 1654});
  REQUIRE_THROWS_WITH(splice({.name = "splice", .train = 2001}), Contains("2000"));
  REQUIRE_THROWS_WITH(splice({.name = "splice", .patch = 2}), Contains("task splice: patch is 2"));
  REQUIRE_THROWS_WITH(splice({.name = "splice", .variant = "x"}), Contains("variant 'x'"));
}

TEST_CASE("splice: a donor site reads GT behind the boundary, an acceptor site AG before it", "[tasks]") {
  const Sample sample = splice({.name = "splice"}).sample(3);
  int64_t donors = 0, gt = 0, acceptors = 0, ag = 0;
  for (int64_t i = 0; i < sample.test.y.size(0); ++i) {
    const auto letter = [&](int64_t position) { return sample.test.x.at({i, position}); };
    if (const double y = sample.test.y.at({i}); y == 0) {
      ++donors;
      gt += letter(30) == 2 && letter(31) == 3;
    } else if (y == 1) {
      ++acceptors;
      ag += letter(28) == 0 && letter(29) == 2;
    }
  }
  // The rule has exceptions in nature (GC instead of GT), and in Genbank.
  REQUIRE(static_cast<double>(gt) > 0.95 * static_cast<double>(donors));
  REQUIRE(static_cast<double>(ag) > 0.95 * static_cast<double>(acceptors));
}

TEST_CASE("splice: a linear model reaches .90, also with positions permuted", "[tasks]") {
  // Measured over ten seeds: .896 +- .008, .88 to .91.
  for (const bool shuffled : {false, true}) {
    const double accuracy = tutti_test::linear_probes(splice({.name = "splice", .shuffled = shuffled}), 3, 0.1);
    REQUIRE(accuracy > 0.87);
    REQUIRE(accuracy < 0.93);
  }
}
#endif
