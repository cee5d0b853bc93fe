// Random numbers one after another, the same bits on every machine, for data that is generated.
#pragma once
#include "tutti/core/box_muller.h"
#include "tutti/core/philox.h"

namespace comparison {

/// The words of Philox4x32-10 under one key, in order.
class Draws {
 public:
  explicit Draws(tutti::RandomKey key) : key_(key) {}

  uint32_t word() {
    if (used_ == 4) {
      block_ = tutti::philox(key_, next_++);
      used_ = 0;
    }
    return block_.v[used_++];
  }
  /// Uniform in [0, n); the bias is at most n / 2^32.
  int64_t below(int64_t n) { return static_cast<int64_t>((uint64_t{word()} * static_cast<uint64_t>(n)) >> 32); }
  bool bit() { return word() >> 31; }
  /// Uniform in [0, 1).
  double uniform() {
    const uint32_t high = word();
    return tutti::uniform01(high, word());
  }

  /// Standard normal.
  double normal() {
    const uint32_t a = word(), b = word(), c = word();
    double first, second;  // the second is not used: a number of draws that never varies is worth more
    tutti::box_muller(tutti::uniform_above_zero(a, b), tutti::uniform01(c, word()), first, second);
    return first;
  }

 private:
  tutti::RandomKey key_;
  uint64_t next_ = 0;
  tutti::Philox4 block_{};
  int used_ = 4;
};

/// Which samples of a generated task: its training samples of one seed, or one of its sets of test samples, which no
/// seed changes. `task` is the task's own number, so that no two tasks draw alike.
enum class Part : uint32_t { train = 0, validation = 1, test = 2 };  // test + i: another test set
inline tutti::RandomKey part_key(uint32_t task, Part part, uint64_t seed = 0) {
  return {seed, uint64_t{task} << 32 | static_cast<uint32_t>(part)};
}

}  // namespace comparison
