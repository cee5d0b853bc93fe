// A training step on the device: what it launches, that it waits for nothing, errors that come later, and graphs of it.
#include <cmath>
#include <limits>

#include "emulator.h"
#include "support/catch.h"
#include "tutti/core/backend.h"
#include "tutti/tutti.h"

using namespace tutti;

namespace {

const Device gpu = Device::cuda();

/// Errors come when the host waits, as they do outside of tests.
struct Later {
  Later() { cuda_check_at_once(false); }
  ~Later() { cuda_check_at_once(true); }
};

const std::vector<Dims> shapes = {{1}, {31}, {33}, {64, 3}, {97}, {70, 71}, {40000}};  // the last: beyond one round

/// y = 3 w^2 for each weight, and the gradient where that of y is 0.5.
struct Model {
  std::vector<Tensor> weights, slopes;
  Tensor x;
  explicit Model(Device device) {
    double value = 1;
    for (const Dims& s : shapes) {
      Tensor w = full(s, value, {.device = device});
      weights.push_back(w.requires_grad_());
      value = -value * 0.75;
    }
    x = full({1}, 3, {.device = device});
    for (const Dims& s : shapes) slopes.push_back(full(s, 0.5, {.device = device}));
  }
  void backward() const {
    for (size_t i = 0; i < weights.size(); ++i) mul(mul(weights[i], weights[i]), x).backward(slopes[i]);
  }
};

template <class F>
emulator::Counters counted(F&& f) {
  const emulator::Counters before = emulator::counters();
  f();
  emulator::Counters now = emulator::counters();
  now.launches -= before.launches;
  now.host_waits -= before.host_waits;
  now.copies -= before.copies;
  now.allocations -= before.allocations;
  now.graphs -= before.graphs;
  return now;
}

void check_equal(const Model& a, const Model& b) {
  for (size_t i = 0; i < a.weights.size(); ++i) {
    const auto x = a.weights[i].to_vector<double>(), y = b.weights[i].to_vector<double>();
    double apart = 0;
    for (size_t k = 0; k < x.size(); ++k) apart = std::max(apart, std::abs(x[k] - y[k]));
    INFO("shape " << to_string(shapes[i]));
    CHECK(apart <= 2e-6);
  }
}

}  // namespace

TEST_CASE("cuda step: clipping and a step wait for nothing and are four launches and one") {
  const Later errors;
  const Model model(gpu);
  optim::AdamW optimizer(model.weights, {.lr = 0.01});
  const auto step = [&] {
    optimizer.zero_grad();
    model.backward();
    optim::clip_grad_norm(model.weights, 1);
    optimizer.step();
  };
  for (int i = 0; i < 3; ++i) step();
  synchronize(gpu);
  const auto later = counted([&] {
    for (int i = 0; i < 5; ++i) step();
  });
  CHECK(later.host_waits == 0);
  CHECK(later.allocations == 0);
  CHECK(counted([&] { synchronize(gpu); }).copies <= 20);  // of five steps; an answer to "was a gradient refused?" too
  optimizer.zero_grad();
  model.backward();
  CHECK(counted([&] { optim::clip_grad_norm(model.weights, 1); }).launches == 0);  // streams are lazy
  const auto one = counted([&] { synchronize(gpu); });
  const auto clip = counted([&] {
    optim::clip_grad_norm(model.weights, 1);
    synchronize(gpu);
  });
  CHECK(clip.launches == 3);
  const auto last = counted([&] {
    optimizer.step();
    synchronize(gpu);
  });
  CHECK(last.launches == 1);
  CHECK(last.copies <= 2);  // the rates, and the list of parameters if gradients lie elsewhere than before
  CHECK(one.launches > 3);
}

TEST_CASE("cuda step: as on the CPU") {
  const Model here(cpu), there(gpu);
  for (const Model* m : {&here, &there}) {
    optim::AdamW adam(m->weights, {.lr = 0.01});
    optim::SGD sgd(m->weights, {.lr = 0.1, .momentum = 0.9});
    for (int i = 0; i < 3; ++i) {
      adam.zero_grad();
      m->backward();
      const double norm = optim::clip_grad_norm(m->weights, 1);
      CHECK(norm > 1);
      adam.step();
      sgd.step();
    }
  }
  check_equal(here, there);
}

TEST_CASE("cuda step: several dtypes in one list, with a norm beyond the range of squares") {
  for (const Device device : {cpu, gpu}) {
    std::vector<Tensor> list;
    for (DType t : {DType::float32, DType::float64, DType::bfloat16, DType::float16, DType::float64}) {
      list.push_back(zeros({5000}, {.dtype = t, .device = device}).requires_grad_());
      list.back().set_grad(full({5000}, t == DType::float64 ? 1e200 : 1, {.dtype = t, .device = device}));
    }
    CHECK(optim::clip_grad_norm(list, 100) / 1e202 == Approx(1));
    CHECK(list[1].grad().at({4999}) == Approx(1));
    CHECK(list[0].grad().at({4999}) == 0);
  }
}

TEST_CASE("cuda step: a gradient that is not finite is named after the next wait, and the gradients are untouched") {
  const Later errors;
  const Model model(gpu);
  model.backward();
  const Tensor bad = full({70, 71}, 2, {.device = gpu});
  fill_(slice(slice(bad, 0, 69, 70), 1, 3, 4), std::numeric_limits<double>::infinity());
  model.weights[5].set_grad(bad);
  optim::clip_grad_norm(model.weights, 1);
  optim::clip_grad_norm(model.weights, 1);  // the first is reported
  REQUIRE_THROWS_WITH(synchronize(gpu),
                      "clip_grad_norm: the gradient of parameter 5 of shape [70, 71] is infinite at [69, 3]");
  CHECK(bad.at({0, 0}) == 2);
  synchronize(gpu);
  const auto norm = optim::clip_grad_norm(model.weights, 1);
  REQUIRE_THROWS_AS(static_cast<double>(norm), ValueError);
  optim::clip_grad_value(model.weights, 1);
  CHECK(bad.at({69, 3}) == 1);
  fill_(bad, std::numeric_limits<double>::quiet_NaN());
  cuda_check_at_once(true);
  REQUIRE_THROWS_WITH(optim::clip_grad_value(model.weights, 1),
                      "clip_grad_value: the gradient of parameter 5 of shape [70, 71] is NaN at [0, 0]");
}

TEST_CASE("cuda graph: a recorded step goes on as the step itself would") {
  const Later errors;
  const Model eager(gpu), recorded(gpu);
  const auto run = [](const Model& m, optim::Optimizer& optimizer) {
    optimizer.zero_grad();
    m.backward();
    optim::clip_grad_norm(m.weights, 50);
    optimizer.step();
  };
  optim::AdamW a(eager.weights, {.lr = 0.01}), b(recorded.weights, {.lr = 0.01});
  {
    CudaGraph graph([&] { run(recorded, b); }, gpu);
    for (int i = 0; i < 2; ++i) run(eager, a);
    check_equal(eager, recorded);
    for (int i = 0; i < 4; ++i) {
      for (optim::Optimizer* o : {static_cast<optim::Optimizer*>(&a), static_cast<optim::Optimizer*>(&b)})
        o->groups()[0].lr = 0.01 / (i + 1);
      run(eager, a);
      const auto one = counted([&] { graph.replay(); });
      CHECK(one.graphs == 1);
      CHECK(one.host_waits == 0);
      // Memory that others use meanwhile is not the graph's.
      for (int k = 0; k < 20; ++k) (void)full({40000}, k, {.device = gpu});
    }
    check_equal(eager, recorded);
    CHECK(b.steps() == 6);
  }
  run(eager, a);
  run(recorded, b);  // after the graph is gone
  check_equal(eager, recorded);
}

TEST_CASE("cuda graph: a module, its loss, and batches that change") {
  const Later errors;
  const Device before = default_device();
  set_default_device(gpu);
  const auto run = [](bool record) {
    manual_seed(3);
    struct Net : nn::Callable<Net> {
      nn::TransformerBlock block{{.embed_dim = 16, .attention = nn::grouped({.num_heads = 2, .groups = 2})}};
      nn::Linear head{{.in = 16, .out = 5}};
      void children(nn::Visitor& visit) override {
        visit("block", block);
        visit("head", head);
      }
      Tensor forward(const Tensor& x) { return head(mean(block(x), 1)); }
    } net;
    optim::AdamW optimizer(net.parameters(), {.lr = 0.01});
    const Tensor x = randn({4, 7, 16}), y = zeros({4}, {.dtype = DType::int64});
    std::vector<Tensor> inputs, labels;
    for (int i = 0; i < 3; ++i) {
      inputs.push_back(randn({4, 7, 16}));
      labels.push_back(randint(0, 5, {4}));
    }
    Tensor loss;
    const auto step = [&] {
      loss = cross_entropy(net(x), y);
      optimizer.zero_grad();
      loss.backward();
      optim::clip_grad_norm(net.parameters(), 1);
      optimizer.step();
    };
    std::unique_ptr<CudaGraph> graph;
    if (record)
      graph = std::make_unique<CudaGraph>(step, gpu);
    else
      for (int i = 0; i < CudaGraphOptions{}.warm_up; ++i) step();
    std::vector<double> losses;
    for (int i = 0; i < 3; ++i) {
      copy_(x, inputs[static_cast<size_t>(i)]);
      copy_(y, labels[static_cast<size_t>(i)]);
      graph ? graph->replay() : step();
      losses.push_back(loss.item());
    }
    return losses;
  };
  const auto eager = run(false), replayed = run(true);
  set_default_device(before);
  CHECK(eager == replayed);
  CHECK(eager[0] != eager[1]);
}

TEST_CASE("cuda graph: what gives memory back to the device as a step is recorded does not break the recording") {
  const Later errors;
  const Model model(gpu);
  (void)full({30'000'000}, 1, {.device = gpu});  // leaves a segment of its own
  const size_t before = emulator::bytes_in_use();
  int runs = 0;
  CudaGraph graph(
      [&] {
        if (++runs == 2) memory::release_cached(gpu);  // the first is the warm-up
        model.backward();
      },
      gpu, {.warm_up = 1});
  CHECK(runs == 2);
  CHECK(emulator::bytes_in_use() < before);  // the recording over, it was given back
  graph.replay();
  CHECK(model.weights[0].grad().item() == Approx(6));
}

TEST_CASE("cuda graph: what cannot be repeated is refused") {
  const Later errors;
  const Model model(gpu);
  const auto wait = [&] { (void)model.weights[0].item(); };
  REQUIRE_THROWS_WITH(CudaGraph(wait, gpu),
                      "CudaGraph: the step waits for the device (item(), printing, a copy to the host), which a replay "
                      "could not do");
  const Tensor inputs[] = {full({1000}, 1, {.device = gpu}), full({6'000'000}, 1, {.device = gpu})};
  const Tensor* next = inputs;
  const auto grow = [&] { (void)mul(*next++, 2); };
  REQUIRE_THROWS_WITH(CudaGraph(grow, gpu, {.warm_up = 1}),
                      "CudaGraph: the step needs more memory than it did in its warm-up");
  REQUIRE_THROWS_AS(CudaGraph([] {}, cpu), DeviceError);
  model.backward();  // all is as before
  CHECK(model.weights[0].grad().item() == Approx(3));
}
