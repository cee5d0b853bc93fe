#include "grouped_vs_standard/headline/measure.h"

#include <unistd.h>
#include <chrono>

#include <cstdio>
#include <memory>

#include "common/program.h"

namespace comparison {

using namespace tutti;

namespace {

double rate(Stepper& stepper, int64_t steps) {
  const auto start = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < steps; ++i) stepper.step();
  synchronize(default_device());  // a GPU is done later than the calls
  return static_cast<double>(steps) / std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

Stepper::Stepper(const Setting& setting, uint64_t seed)
    : model_(fresh_model(setting, seed)),
      optimizer_(parameter_groups(*model_, setting.training.weight_decay), {.lr = setting.training.lr}) {
  const auto o = completed(setting.model, *make_task(setting.task));
  const int64_t batch = setting.training.batch;
  tokens_ = o.symbols > 0 ? randint(0, o.symbols, {batch, o.tokens}) : randn({batch, o.tokens, o.inputs});
  labels_ = randint(0, o.classes, {batch});
}

Tensor Stepper::loss() { return cross_entropy((*model_)(tokens_), labels_); }

void Stepper::update(const Tensor& loss) {
  optimizer_.zero_grad();
  loss.backward();
  optimizer_.step();
}

Speed measure_speed(const Setting& a, const Setting& b, int64_t blocks, int64_t steps,
                    const std::function<bool(double share)>& keep_going) {
  Stepper first(a), second(b);
  Stepper* steppers[2] = {&first, &second};
  for (Stepper* s : steppers) rate(*s, 10);
  Speed speed;
  for (int64_t block = 0; block < blocks; ++block) {
    double measured[2];
    for (int k = 0; k < 2; ++k) {
      const int arm = static_cast<int>(block % 2) ^ k;
      if (keep_going && !keep_going(static_cast<double>(2 * block + k) / static_cast<double>(2 * blocks))) return speed;
      measured[arm] = rate(*steppers[arm], steps);
    }
    for (int arm = 0; arm < 2; ++arm) speed.rates[arm].push_back(measured[arm]);
  }
  return speed;
}

Memory measure_memory(const Setting& setting) {
  const auto others = memory::stats().current;  // data sets that this process holds
  Stepper stepper(setting);
  Memory m;
  for (int i = 0; i < 3; ++i) {  // the first makes gradients and moments, which stay
    const auto before = memory::stats().current;
    memory::reset_peak();
    const Tensor loss = stepper.loss();
    m.kept_bytes = static_cast<double>(memory::stats().current - before);
    stepper.update(loss);
  }
  m.tensor_bytes = static_cast<double>(memory::stats().peak - others);
  m.rss_bytes = static_cast<double>(examples::status_bytes("VmHWM:"));
  return m;
}

Memory measure_memory_apart(const std::string& arguments) {
  const auto close = [](FILE* f) { pclose(f); };
  const std::unique_ptr<FILE, decltype(close)> pipe(
      popen(("exec \"$(readlink -f /proc/" + std::to_string(getpid()) + "/exe)\" memory " + arguments).c_str(), "r"),
      close);
  Memory m;
  if (!pipe || std::fscanf(pipe.get(), "%lf %lf", &m.tensor_bytes, &m.rss_bytes) != 2)
    throw IoError("the memory measurement's process gave no answer");
  return m;
}

}  // namespace comparison
