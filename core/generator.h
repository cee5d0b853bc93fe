// Random numbers: Philox4x32-10 (Salmon et al. 2011), counter-based. A random tensor is named by (seed, stream);
// element i depends on (seed, stream, i) alone, so that thread counts and devices agree and dropout can draw its mask
// again.
#pragma once
#include <atomic>
#include <cstdint>

#include "tutti/core/device.h"
#include "tutti/core/inline.h"

#pragma GCC visibility push(default)
namespace tutti {

/// Names one random tensor.
struct RandomKey {
  uint64_t seed = 0, stream = 0;
};

/// What a kernel draws by. In a step that a CudaGraph repeats, each replay draws other numbers: `start` is then where
/// its generator stands as the replay begins, in memory of the device, and `key` counts from there.
struct DrawKey {
  RandomKey key;
  const RandomKey* start = nullptr;  ///< null outside of graphs
  TUTTI_INLINE RandomKey now() const { return start ? RandomKey{start->seed, start->stream + key.stream} : key; }
};

class RecordedDraws;

class Generator {
 public:
  explicit Generator(uint64_t seed = 0);
  /// Starts the sequence of streams again. DeviceError in a step that a CudaGraph records, as of set_position.
  void manual_seed(uint64_t seed);
  uint64_t seed() const { return seed_; }
  uint64_t position() const { return stream_; }  ///< the next stream
  void set_position(uint64_t stream);
  /// The next stream's key, for numbers that the host draws. Safe to call from several threads, but then the order is
  /// theirs. DeviceError in a step that a CudaGraph records: the host would not draw again.
  RandomKey next();
  /// The same for a kernel on `device`, in recorded steps too. DeviceError naming `op` if a step is recorded on
  /// another.
  DrawKey next_for(const char* op, Device device);
  /// What next_for would give; and from where the next ones go on. For checkpoint, which draws again.
  DrawKey mark();
  void go_back(const DrawKey& mark);

 private:
  friend class RecordedDraws;
  RecordedDraws* recorded() const;
  uint64_t seed_;
  std::atomic<uint64_t> stream_{0};
  uint64_t made_in_ = 0;  // the number of the recording whose step made it, or 0
};

/// What random operations draw from unless told otherwise: one for the process, seed 0.
Generator& default_generator();
/// Seeds the default generator.
void manual_seed(uint64_t seed);

}  // namespace tutti
#pragma GCC visibility pop
