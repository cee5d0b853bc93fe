// Random numbers: Philox4x32-10 (Salmon et al. 2011), counter-based. A random tensor is named by (seed, stream);
// element i depends on (seed, stream, i) alone, so that thread counts and devices agree and dropout can draw its mask
// again.
#pragma once
#include <atomic>
#include <cstdint>

#pragma GCC visibility push(default)
namespace tutti {
namespace detail {
/// Throws where work is recorded (cuda_graph.h): a replay would draw the same numbers again.
void check_may_draw();
}  // namespace detail

/// Names one random tensor.
struct RandomKey {
  uint64_t seed = 0, stream = 0;
};

class Generator {
 public:
  explicit Generator(uint64_t seed = 0) : seed_(seed) {}
  /// Starts the sequence of streams again.
  void manual_seed(uint64_t seed);
  uint64_t seed() const { return seed_; }
  uint64_t position() const { return stream_; }  ///< the next stream
  void set_position(uint64_t stream) { stream_ = stream; }
  /// The next stream's key. Safe to call from several threads, but then the order is theirs. DeviceError in a step that
  /// a CudaGraph records.
  RandomKey next() {
    detail::check_may_draw();
    return {seed_, stream_.fetch_add(1, std::memory_order_relaxed)};
  }

 private:
  uint64_t seed_;
  std::atomic<uint64_t> stream_{0};
};

/// What random operations draw from unless told otherwise: one for the process, seed 0.
Generator& default_generator();
/// Seeds the default generator.
void manual_seed(uint64_t seed);

}  // namespace tutti
#pragma GCC visibility pop
