// The random numbers of a step that a CudaGraph records. Its kernels draw by keys that count from where a generator
// stands as a replay begins, and that is written to the device before each replay.
#pragma once
#include <memory>
#include <vector>

#include "tutti/core/generator.h"
#include "tutti/core/storage.h"

namespace tutti {

class RecordedDraws {
 public:
  explicit RecordedDraws(Device device);
  /// Gradients that are computed later still ask where the last replay began: that memory stays.
  ~RecordedDraws();
  Device device() const { return device_; }
  /// Of all recordings: 1, 2, ...
  uint64_t number() const { return number_; }
  /// The key of the generator's next draw in the step.
  DrawKey& next(Generator& generator);
  /// Before a replay: all generators move on by what the step draws. One copy tells the device where they stood.
  void go_on();

 private:
  static constexpr size_t most = 16;  // generators
  struct Sequence {
    Generator* generator;
    DrawKey next;
  };
  Device device_;
  uint64_t number_;
  std::unique_ptr<Storage> starts_;  // a RandomKey for each sequence
  std::vector<Sequence> sequences_;
};

}  // namespace tutti
