// An operation of one's own, outside the library: checked against central differences, then used in a small network.
#include <tutti/backends/contract/kernel.h>
#include <tutti/tutti.h>

#include <CLI/CLI.hpp>
#include <climits>
#include <cstdio>

#include "relu_squared.h"

using namespace tutti;

namespace {

struct Network : nn::Callable<Network> {
  nn::Linear hidden{{.in = 1, .out = 32}};
  nn::Linear head{{.in = 32, .out = 1}};
  void children(nn::Visitor& visit) override {
    visit("hidden", hidden);
    visit("head", head);
  }
  Tensor forward(const Tensor& x) { return head(mine::relu_squared(hidden(x))); }
};

void check_gradients() {
  Tensor x = sub(rand({4, 5}, {.dtype = DType::float64}), 0.5);
  x.requires_grad_();
  const auto f = [](const std::vector<Tensor>& in) { return mine::relu_squared(in[0]); };
  gradcheck(f, {x});
  Tensor transposed = transpose(x.detach(), 0, 1);
  transposed.requires_grad_();
  gradcheck(f, {transposed});
  gradgradcheck(f, {x});
  std::puts("gradients and second derivatives agree with central differences");
}

double train(int steps) {
  Network network;
  optim::Adam optimizer(network.parameters(), {.lr = 1e-2});
  const Tensor x = reshape(linspace(-2, 2, 256), {256, 1}), wanted = sin(mul(x, 2));
  double loss = 0;
  for (int step = 0; step <= steps; ++step) {
    const Tensor error = mse_loss(network(x), wanted);
    loss = error.item();
    if (step % (steps < 4 ? 1 : steps / 4) == 0) std::printf("step %4d  mean squared error %.5f\n", step, loss);
    optimizer.zero_grad();
    error.backward();
    optimizer.step();
  }
  return loss;
}

int run(int argc, char** argv) {
  CLI::App app{
      "An operation outside the library (relu_squared): gradcheck, then a network that learns sin(2x) with it"};
  int steps = 400;
  std::string device = "cpu";
  uint64_t seed = 0;
  app.add_option("--steps", steps, "training steps")->check(CLI::Range(1, 1000000))->capture_default_str();
  app.add_option("--seed", seed, "of the random numbers")->check(CLI::Range(0, INT_MAX))->capture_default_str();
  app.add_option("--device", device, "cpu, cuda or cuda:<number>")->capture_default_str();
  CLI11_PARSE(app, argc, argv);

  set_default_device(device_from(device));
  manual_seed(seed);
  std::printf("device %s, instruction set %s, %d threads, seed %llu\n", to_string(default_device()).c_str(),
              isa::names[static_cast<size_t>(isa::level())], num_threads(), static_cast<unsigned long long>(seed));
  check_gradients();
  const double loss = train(steps);
  if (steps < 400 || loss < 0.01) return 0;
  std::fprintf(stderr, "custom_op: the network did not learn\n");
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "custom_op: %s\n", e.what());
    return 1;
  }
}
