// Training on the device: the losses of the CPU, the same bits in every thread order, and what a step launches.
#include <cmath>

#include "emulator.h"
#include "support/catch.h"
#include "tutti/core/backend.h"
#include "tutti/tutti.h"

using namespace tutti;

namespace {

const Device gpu = Device::cuda();

struct Model : nn::Callable<Model> {
  nn::Linear embed;
  nn::TransformerEncoder encoder;
  nn::Linear head;
  Model(int64_t inputs, int64_t width, const nn::AttentionSpec& attention, double dropout)
      : embed({.in = inputs, .out = width}),
        encoder({.block = {.embed_dim = width, .attention = attention, .dropout = dropout}, .layers = 4}),
        head({.in = width, .out = 10}) {}
  void children(nn::Visitor& visit) override {
    visit("embed", embed);
    visit("encoder", encoder);
    visit("head", head);
  }
  Tensor forward(const Tensor& x) { return head(mean(encoder(embed(x)), 1)); }
};

/// As the article's classifier: four blocks. The numbers are drawn on the CPU, so that both devices begin alike.
struct Training {
  Training(Device device, const nn::AttentionSpec& attention, double dropout, int64_t batch, int64_t tokens,
           int64_t width)
      : model((manual_seed(1), 16), width, attention, dropout),
        x(to(randn({batch, tokens, 16}, {.device = cpu}), device)),
        y(to(randint(0, 10, {batch}, {.dtype = DType::int64, .device = cpu}), device)),
        optimizer((model.to(device), model.parameters()), {.lr = 1e-3}) {}
  Tensor step() {
    const Tensor loss = cross_entropy(model(x), y);
    optimizer.zero_grad();
    loss.backward();
    optim::clip_grad_norm(model.parameters(), 1);
    optimizer.step();
    return loss.detach();
  }
  /// Of 20 steps; the host reads them at the end.
  std::vector<double> losses() {
    manual_seed(2);  // of dropout
    std::vector<Tensor> each;
    for (int i = 0; i < 20; ++i) each.push_back(step());
    std::vector<double> values;
    for (const Tensor& loss : each) values.push_back(loss.item());
    return values;
  }

  Model model;
  Tensor x, y;
  optim::AdamW optimizer;
};

Training small(Device device, bool grouped, double dropout) {
  return Training(device, grouped ? nn::grouped({.num_heads = 4, .groups = 4}) : nn::standard({.num_heads = 4}),
                  dropout, 3, 7, 32);
}

struct DefaultDevice {  // of what the models make for themselves
  explicit DefaultDevice(Device device) : before(default_device()) { set_default_device(device); }
  ~DefaultDevice() { set_default_device(before); }
  Device before;
};

}  // namespace

TEST_CASE("cuda training: 20 steps have the CPU's losses, with dropout too") {
  const DefaultDevice here(cpu);
  for (const bool grouped : {false, true})
    for (const double dropout : {0.0, 0.2}) {
      const auto want = small(cpu, grouped, dropout).losses(), got = small(gpu, grouped, dropout).losses();
      INFO((grouped ? "grouped" : "standard") << ", dropout " << dropout);
      CHECK(want.front() > want.back());
      double apart = 0;
      for (size_t i = 0; i < want.size(); ++i) apart = std::max(apart, std::abs(got[i] / want[i] - 1));
      CHECK(apart < 1e-5);
    }
}

TEST_CASE("cuda training: runs repeat bit for bit, whatever the order of threads") {
  const DefaultDevice here(cpu);
  emulator::Config& config = emulator::config();
  const emulator::Config before = config;
  const auto run = [] {
    Training training = small(gpu, true, 0.2);
    auto values = training.losses();
    for (const Tensor& p : training.model.parameters())
      for (const double v : p.to_vector<double>()) values.push_back(v);
    return values;
  };
  const auto want = run();
  using emulator::Order;
  for (const auto& [order, seed] : {std::pair{Order::forward, 1},
                                    {Order::reverse, 1},
                                    {Order::random, 1},
                                    {Order::random, 2},
                                    {Order::random, 3}}) {
    config.order = order;
    config.seed = static_cast<uint64_t>(seed);
    INFO("order " << static_cast<int>(order) << " " << seed);
    CHECK(run() == want);
  }
  config = before;
  // Nor does the number of multiprocessors, by which work is spread, matter.
  config.multiprocessors = 5;
  CHECK(run() == want);
  config = before;
}

TEST_CASE("cuda training: a step waits for nothing, and launches few kernels") {
  const DefaultDevice here(cpu);
  const bool at_once = cuda_checks_at_once();
  cuda_check_at_once(false);  // as in programs
  for (const bool grouped : {false, true}) {
    Training training(gpu, grouped ? nn::grouped({.num_heads = 4, .groups = 4}) : nn::standard({.num_heads = 4}), 0, 2,
                      49, 128);
    for (int i = 0; i < 2; ++i) training.step();
    synchronize(gpu);
    const emulator::Counters before = emulator::counters();
    training.step();
    const uint64_t waits = emulator::counters().host_waits - before.host_waits;
    const uint64_t allocations = emulator::counters().allocations - before.allocations;
    synchronize(gpu);
    const emulator::Counters after = emulator::counters();
    const uint64_t launches = after.launches - before.launches + after.products - before.products;
    INFO((grouped ? "grouped: " : "standard: ") << launches << " launches");
    CHECK(waits == 0);
    CHECK(allocations == 0);
    CHECK(launches <= 160);
  }
  cuda_check_at_once(at_once);
}
