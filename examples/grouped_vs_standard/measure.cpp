#include "grouped_vs_standard/measure.h"

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
  return static_cast<double>(steps) / std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

Speed measure_speed(const std::vector<Arm>& arms, const Protocol& p, const Images& images, int64_t blocks,
                    const std::function<bool(double share)>& keep_going) {
  Stepper standard(arms[0], p, images, 1), grouped(arms[1], p, images, 1);
  Stepper* steppers[2] = {&standard, &grouped};
  for (Stepper* s : steppers) rate(*s, 10);
  const int64_t steps = 20;
  Speed speed;
  for (int64_t block = 0; block < blocks; ++block) {
    double measured[2];
    for (int k = 0; k < 2; ++k) {
      const int arm = static_cast<int>(block % 2) ^ k;
      if (!keep_going(static_cast<double>(2 * block + k) / static_cast<double>(2 * blocks))) return speed;
      measured[arm] = rate(*steppers[arm], steps);
    }
    for (int arm = 0; arm < 2; ++arm) speed.rates[arm].push_back(measured[arm]);
  }
  return speed;
}

Memory measure_memory(const Arm& arm, const Protocol& p) {
  const Images images{randn({p.batch, 28, 28}), randint(0, p.classes, {p.batch})};
  Stepper stepper(arm, p, images, 1);
  for (int i = 0; i < 3; ++i) stepper.step();
  memory::reset_peak();
  stepper.step();
  return {static_cast<double>(memory::stats().peak), static_cast<double>(examples::status_bytes("VmHWM:"))};
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
