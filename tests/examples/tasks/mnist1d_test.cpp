// MNIST-1D: the published score of a linear model, and the parts of the recipe that can be seen from outside.
#if __has_include("grouped_vs_standard/tasks/mnist1d.h")
#include "grouped_vs_standard/tasks/mnist1d.h"

#include "grouped_vs_standard/tasks/fingerprint.h"
#include "support/catch.h"
#include "support/linear_probe.h"

using namespace comparison;
using namespace tutti;

TEST_CASE("mnist1d: sizes, equal classes, standardised", "[mnist1d]") {
  const Task& task = *make_task({.name = "mnist1d"});
  const Sample s = task.sample(1);
  REQUIRE(task.tokens_of(s.train.x, true).shape() == Dims{4000, 40, 1});
  REQUIRE(s.test.x.shape() == Dims{1000, 40});
  for (const Tensor& y : {s.train.y, s.test.y})
    for (int64_t c = 0; c < 10; ++c) REQUIRE(sum(to(eq(y, c), DType::int64)).item() == y.size(0) / 10);
  const double mean_of_all = mean(s.train.x).item(), square = mean(s.train.x * s.train.x).item();
  REQUIRE(mean_of_all == Approx(0).margin(0.02));
  REQUIRE(square == Approx(1).margin(0.03));
}

TEST_CASE("mnist1d: the same bits everywhere, other ones for every seed", "[mnist1d]") {
  const Task& task = *make_task({.name = "mnist1d"});
  const Sample first = task.sample(1), second = task.sample(2);
  REQUIRE(fingerprint(first.train.x) == 0x87cabc27394b7545);
  REQUIRE(fingerprint(first.test.x) == 0xe542e553460d3235);
  REQUIRE(fingerprint(second.train.x) != fingerprint(first.train.x));
  REQUIRE(fingerprint(second.test.x) == fingerprint(first.test.x));
  REQUIRE(fingerprint(make_task({.name = "mnist1d", .validation = true})->sample(1).test.x) !=
          fingerprint(first.test.x));
  // Shuffled: the same samples, their steps in another order.
  const Task& shuffled = *make_task({.name = "mnist1d", .shuffled = true});
  const Tensor a = task.tokens_of(first.test.x, false), b = shuffled.tokens_of(shuffled.sample(1).test.x, false);
  REQUIRE(fingerprint(a) != fingerprint(b));
  REQUIRE(fingerprint(topk(a, 40, 1).values) == fingerprint(topk(b, 40, 1).values));
}

TEST_CASE("mnist1d: logistic regression reaches the published 32 %", "[mnist1d]") {
  const double accuracy = tutti_test::linear_probes(*make_task({.name = "mnist1d"}), 2, 0.1);
  INFO("accuracy " << accuracy);
  REQUIRE(accuracy == Approx(0.32).margin(0.02));
}
#endif
