// Speed and memory of a training step, apart from accuracy.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "grouped_vs_standard/study/train.h"

namespace comparison {

/// A training step of a fresh model on one fixed batch, resident in memory: forward, loss, backward, update.
class Stepper {
 public:
  explicit Stepper(const Setting& setting, uint64_t seed = 1);
  tutti::Tensor loss();
  void update(const tutti::Tensor& loss);
  void step() { update(loss()); }

 private:
  std::unique_ptr<examples::Classifier> model_;
  tutti::optim::AdamW optimizer_;
  tutti::Tensor tokens_, labels_;
};

struct Speed {
  std::vector<double> rates[2];  ///< steps per second of paired blocks
};

/// Interleaved blocks (A B B A ...) of about `steps` steps after a warm-up of ten steps each. keep_going(done share)
/// may stop it early.
Speed measure_speed(const Setting& a, const Setting& b, int64_t blocks, int64_t steps = 20,
                    const std::function<bool(double share)>& keep_going = {});

struct Memory {
  double tensor_bytes = 0;  ///< the allocator's high-water mark over a step: weights, gradients, moments, activations
  double kept_bytes = 0;    ///< of these, what the forward pass leaves for backward
  double rss_bytes = 0;     ///< peak resident bytes of a process that does nothing else; 0 if unknown
};

/// In this process: the allocator's mark of a step, less what was there before; and the process's peak.
Memory measure_memory(const Setting& setting);

/// In a process of its own, started as `program memory --arm NAME ...`.
Memory measure_memory_apart(const std::string& arguments);

}  // namespace comparison
