// Bad indices on the device: reported when the host waits, by the operation that met them, and nothing is touched
// beyond.
#include "emulator.h"
#include "support/catch.h"
#include "tutti/autograd/node.h"
#include "tutti/core/backend.h"
#include "tutti/core/cuda_check.h"
#include "tutti/core/cuda_graph.h"
#include "tutti/core/error.h"
#include "tutti/ops/arithmetic.h"
#include "tutti/ops/copy.h"
#include "tutti/ops/create.h"
#include "tutti/ops/index.h"
#include "tutti/ops/join.h"
#include "tutti/ops/loss.h"
#include "tutti/ops/reduce.h"
#include "tutti/ops/shape.h"

using namespace tutti;

namespace {

const Device gpu = Device::cuda();

struct Later {  // errors come at the next wait
  Later() : before(cuda_checks_at_once()) { cuda_check_at_once(false); }
  ~Later() { cuda_check_at_once(before); }
  bool before;
};

Tensor ints(std::initializer_list<int64_t> values) {
  return to(Tensor::from(std::vector<int64_t>(values), {static_cast<int64_t>(values.size())}), gpu);
}

}  // namespace

TEST_CASE("cuda complaint: a bad index is reported at the next wait, once, by its first position") {
  const Later later;
  const Tensor w = ones({5, 4}, {.device = gpu});
  const Tensor good = embedding(ints({0, 4}), w), bad = embedding(ints({1, 7, 2, -1}), w);
  REQUIRE_THROWS_WITH(synchronize(gpu), "embedding: index 7 at position 1 is out of range [0, 5)");
  synchronize(gpu);
  CHECK(good.to_vector<double>() == std::vector<double>(8, 1));
  CHECK(sum(bad).item() == 8);  // what is not there reads as zero
  const Tensor far = index_select(w, 0, ints({INT64_MIN, 0}));
  REQUIRE_THROWS_WITH(far.to_vector<double>(),
                      "index_select: index -9223372036854775808 at position 0 is out of range [0, 5)");
  (void)index_select(w, 0, ints({INT64_MAX}));
  REQUIRE_THROWS_WITH(sum(w).item(), "index_select: index 9223372036854775807 at position 0 is out of range [0, 5)");
}

TEST_CASE("cuda complaint: of many the first is reported, and later ones again") {
  const Later later;
  const Tensor x = ones({3}, {.device = gpu});
  const Tensor good = ints({0, 1, 2}), bad = ints({0, 3, 1}), worse = ints({-5, 3, 1});
  for (int i = 0; i < 300; ++i) (void)gather(x, 0, good);
  (void)gather(x, 0, bad);
  (void)scatter_add(x, 0, worse, x);
  for (int i = 0; i < 300; ++i) (void)gather(x, 0, good);
  REQUIRE_THROWS_WITH(synchronize(gpu), "gather: index 3 at position 1 is out of range [0, 3)");
  const Tensor y = scatter_add(x, 0, worse, x);
  REQUIRE_THROWS_WITH(synchronize(gpu), "scatter_add: index -5 at position 0 is out of range [0, 3)");
  CHECK(y.to_vector<double>() == std::vector<double>{1, 2, 1});
}

TEST_CASE("cuda complaint: a bad target counts for nothing until it is reported") {
  const Later later;
  Tensor x = zeros({3, 2}, {.device = gpu}).requires_grad_();
  const Tensor loss = cross_entropy(x, ints({0, 2, 1}));
  loss.backward();
  REQUIRE_THROWS_WITH(loss.item(), "cross_entropy: target 2 at position 1 is out of range [0, 2)");
  CHECK(x.grad().to_vector<double>() == std::vector<double>{-.25, .25, 0, 0, .25, -.25});
}

TEST_CASE("cuda complaint: gradients by a bad index, with few and many indices, stay in bounds") {
  const Later later;
  for (const int64_t n : {3, 3000}) {
    Tensor w = zeros({4, 8}, {.device = gpu}).requires_grad_();
    const Tensor at = zeros({n}, {.dtype = DType::int64, .device = gpu});
    fill_(slice(at, 0, 1, 2), 1'000'000);
    sum(embedding(at, w)).backward();
    REQUIRE_THROWS_AS(synchronize(gpu), IndexError);
    CHECK(w.grad().at({0, 7}) == static_cast<double>(n - 1));
    const Tensor added = scatter_add(zeros({2, 4}, {.device = gpu}), 1, reshape(cat({at, at}, 0), {2, n}),
                                     ones({2, n}, {.device = gpu}));
    REQUIRE_THROWS_AS(synchronize(gpu), IndexError);
    CHECK(added.at({1, 0}) == static_cast<double>(n - 1));
  }
}

TEST_CASE("cuda complaint: at once, if that is wanted, and checks are one launch, with nothing else until a wait") {
  const Tensor w = ones({5, 4}, {.device = gpu}), at = ints({1, 2}), wrong = ints({9});
  cuda_check_at_once(true);
  REQUIRE_THROWS_WITH(embedding(wrong, w), "embedding: index 9 at position 0 is out of range [0, 5)");
  const Later later;
  (void)embedding(at, w);
  synchronize(gpu);
  const emulator::Counters before = emulator::counters();
  (void)embedding(at, w);
  CHECK(emulator::counters().copies == before.copies);
  CHECK(emulator::counters().host_waits == before.host_waits);
  synchronize(gpu);
  CHECK(emulator::counters().launches - before.launches == 2);
  CHECK(emulator::counters().copies - before.copies == 1);
  synchronize(gpu);
  CHECK(emulator::counters().copies - before.copies == 1);
}

TEST_CASE("cuda complaint: a recorded step checks in each replay") {
  const Later later;
  const Tensor w = ones({5, 4}, {.device = gpu}), at = ints({1, 2});
  Tensor y;
  CudaGraph step([&] { y = embedding(at, w); }, gpu);
  step.replay();
  synchronize(gpu);
  copy_(at, ints({3, 8}));
  step.replay();
  REQUIRE_THROWS_WITH(synchronize(gpu), "embedding: index 8 at position 1 is out of range [0, 5)");
  copy_(at, ints({3, 4}));
  step.replay();
  CHECK(sum(y).item() == 8);
}
