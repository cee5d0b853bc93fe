// Learning-rate schedules as numbers.
#include "tutti/nn/optim/scheduler.h"

#include "support/op_test.h"
#include "tutti/nn/optim/sgd.h"
#include "tutti/ops/create.h"

using namespace tutti;
using namespace tutti::optim;

namespace {

std::vector<double> first(const Schedule& s, int64_t n) {
  std::vector<double> v;
  for (int64_t i = 0; i < n; ++i) v.push_back(s(i));
  return v;
}
void check(const std::vector<double>& got, const std::vector<double>& want) {
  REQUIRE(got.size() == want.size());
  for (size_t i = 0; i < want.size(); ++i) CHECK(got[i] == Approx(want[i]).margin(1e-12));
}

}  // namespace

TEST_CASE("schedules: their first factors") {
  check(first(constant(), 3), {1, 1, 1});
  check(first(constant(0.5), 2), {0.5, 0.5});
  check(first(step_decay(2), 5), {1, 1, 0.1, 0.1, 0.01});
  check(first(step_decay(1, 0.5), 3), {1, 0.5, 0.25});
  check(first(cosine(4), 6), {1, 0.8535533905932737, 0.5, 0.1464466094067262, 0, 0});
  check(first(cosine(2, 0.2), 4), {1, 0.6, 0.2, 0.2});
  check(first(cosine_restarts(2), 5), {1, 0.5, 1, 0.5, 1});
  check(first(cosine_restarts(1, 2), 8), {1, 1, 0.5, 1, 0.8535533905932737, 0.5, 0.1464466094067262, 1});
  check(first(linear_warmup(4), 6), {0.25, 0.5, 0.75, 1, 1, 1});
  check(first(linear_warmup(1), 2), {1, 1});
  check(first(chained(linear_warmup(2), 2, cosine(2)), 5), {0.5, 1, 1, 0.5, 0});
  CHECK(cosine_restarts(3)(int64_t{3} << 40) == 1);                   // in constant time
  CHECK(cosine_restarts(1, int64_t{1} << 30)(int64_t{1} << 62) > 0);  // its next period would overflow
}

TEST_CASE("schedules: wrong lengths are errors") {
  REQUIRE_THROWS_WITH(cosine(0), "cosine: steps is 0; it must be at least 1");
  REQUIRE_THROWS_WITH(step_decay(-1), "step_decay: every is -1; it must be at least 1");
  REQUIRE_THROWS_WITH(cosine_restarts(2, 0), "cosine_restarts: growth is 0; it must be at least 1");
  REQUIRE_THROWS_WITH(linear_warmup(0), "linear_warmup: steps is 0; it must be at least 1");
  REQUIRE_THROWS_WITH(chained(nullptr, 1, constant()), "chained: a schedule is empty");
}

TEST_CASE("Scheduler: the first step runs at a quarter of the base rate in a warm-up of four") {
  Tensor a = zeros({1}), b = zeros({1});
  a.requires_grad_();
  b.requires_grad_();
  SGD optimizer(std::vector<ParameterGroup>{{.parameters = {a}}, {.parameters = {b}, .lr = 0.2}}, {.lr = 0.8});
  Scheduler schedule(optimizer, linear_warmup(4));
  std::vector<double> rates;
  for (int i = 0; i < 5; ++i) {
    rates.push_back(optimizer.groups()[0].lr);
    CHECK(optimizer.groups()[1].lr == Approx(rates.back() / 4));
    CHECK(schedule.factor() == Approx(rates.back() / 0.8));
    a.set_grad(ones({1}));
    optimizer.step();
    schedule.step();
  }
  check(rates, {0.2, 0.4, 0.6, 0.8, 0.8});
  CHECK(a.item() == Approx(-2.8));
  REQUIRE_THROWS_WITH(Scheduler(optimizer, nullptr), "Scheduler: the schedule is empty");
}

TEST_CASE("Scheduler: groups that were appended or replaced are scheduled from their own rates") {
  const auto leaf = [] { return zeros({1}).requires_grad_(); };
  const Tensor a = leaf(), b = leaf(), c = leaf();
  SGD optimizer({a}, {.lr = 1});
  auto& groups = optimizer.groups();
  Scheduler schedule(optimizer, linear_warmup(4));
  groups.push_back({.parameters = {b}, .lr = 8, .weight_decay = 0});
  schedule.step();
  CHECK(groups[0].lr == 0.5);
  CHECK(groups[1].lr == 4);
  groups.pop_back();
  groups.push_back({.parameters = {c}, .lr = 100, .weight_decay = 0});
  schedule.step();
  CHECK(groups[0].lr == 0.75);
  CHECK(groups[1].lr == 75);
  CHECK(schedule.base_lrs() == std::vector<double>{1, 100});
  groups.pop_back();
  schedule.step();
  CHECK(groups[0].lr == 1);
  CHECK(schedule.base_lrs() == std::vector<double>{1});
}

TEST_CASE("Scheduler: a rate that somebody sets is scheduled on from there") {
  Tensor a = zeros({1}).requires_grad_();
  SGD optimizer({a}, {.lr = 1});
  double& lr = optimizer.groups()[0].lr;
  Scheduler warm(optimizer, linear_warmup(4));
  warm.step();
  CHECK(lr == 0.5);
  lr = 0.25;
  warm.step();
  CHECK(lr == 0.375);  // half of what it would be
  warm.base_lrs()[0] = 4;
  warm.step();
  CHECK(lr == 4);

  // Two schedulers of one optimizer multiply.
  lr = 1;
  Scheduler first(optimizer, step_decay(1, 0.5)), second(optimizer, constant(0.25));
  first.step();
  second.step();
  CHECK(lr == 0.125);
  first.step();
  second.step();
  CHECK(lr == 0.0625);

  lr = 1;
  Scheduler ends(optimizer, cosine(1));
  ends.step();
  CHECK(lr == 0);
  lr = 0.1;
  REQUIRE_THROWS_WITH(ends.step(),
                      "Scheduler: the rate of group 0 was set to 0.1 while the schedule's factor is 0, too small to "
                      "divide by; set base_lrs() instead");
  CHECK(lr == 0.1);
}

TEST_CASE("Scheduler: a rate that is set at a tiny factor does not become a huge base rate") {
  SGD optimizer({zeros({1}).requires_grad_()}, {.lr = 1});
  double& lr = optimizer.groups()[0].lr;
  Scheduler dips(optimizer, [](int64_t step) { return step == 1 ? 1e-6 : 1.0; });
  dips.step();
  lr = 0.1;
  REQUIRE_THROWS_WITH(dips.step(),
                      "Scheduler: the rate of group 0 was set to 0.1 while the schedule's factor is 1e-06, too small "
                      "to divide by; set base_lrs() instead");
  CHECK(lr == 0.1);
  CHECK(dips.base_lrs() == std::vector<double>{1});
  lr = 2e-6;  // in proportion
  dips.step();
  CHECK(lr == Approx(2));

  // Schedulers that multiply do so during a long warm-up too.
  lr = 1;
  Scheduler warm(optimizer, linear_warmup(4000)), half(optimizer, step_decay(1, 0.5));
  warm.step();
  half.step();
  warm.step();
  half.step();
  CHECK(lr == Approx(0.25 * 3 / 4000));
}
