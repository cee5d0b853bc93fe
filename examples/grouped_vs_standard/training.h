// One training run and its test accuracy.
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "grouped_vs_standard/arms.h"
#include "grouped_vs_standard/fashion.h"

namespace comparison {

struct Outcome {
  std::vector<uint8_t> correct;  ///< per test image
  std::vector<float> losses;     ///< per step
  double accuracy() const;       ///< percent
};

/// Where a run takes its images: `train` (all of them) and `test`. The subset of `train` depends on the seed alone.
struct RunData {
  const Images& train;
  const Images& test;
};

/// A training step of a fresh model on fixed data, for measuring speed and memory.
class Stepper {
 public:
  Stepper(const Arm& arm, const Protocol& protocol, const Images& images, uint64_t seed);
  void step();

 private:
  examples::Classifier model_;
  tutti::optim::AdamW optimizer_;
  tutti::Tensor tokens_, labels_;
};

/// Trains the arm from `seed` (initial weights, subset, order and augmentation; shared by the arms) and tests it once,
/// at the end. keep_going(step) is called before every step; false abandons the run.
std::optional<Outcome> train(const Arm& arm, const Protocol& protocol, const RunData& data, uint64_t seed,
                             const std::function<bool(int64_t step)>& keep_going);

}  // namespace comparison
