// What a backend owes the core: memory. Its kernels are found by the linker through backends/contract/.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>

#include "tutti/core/device.h"

#pragma GCC visibility push(default)
namespace tutti {

/// Device work that is kept, to be done again and again (cuda_graph.h).
struct Recorder {
  void* (*allocate)(int index, size_t bytes);  ///< as Backend's, of memory that only recorded work uses
  void (*begin)(int index);                    ///< this thread's work is kept from now on, not done; waits
  void* (*end)(int index);                     ///< what was kept
  void (*discard)(int index);                  ///< instead of end(), after an error
  void (*replay)(int index, void* work);
  void (*drop)(int index, void* work);  ///< waits for its replays
};

/// One kind of device; `index` says which of them.
struct Backend {
  const char* name;
  size_t segment;  ///< bytes that the caching allocator asks for at once, at least
  size_t granule;  ///< blocks of memory begin at multiples of this: a power of two, 64 or more
  size_t guard;    ///< bytes behind each block that nobody gets, for checkers of accesses; 0 where there is none
  int (*count)();  ///< how many devices this machine has
  void (*select)(int index);                   ///< what this thread launches on from now on
  void* (*allocate)(int index, size_t bytes);  ///< aligned to the granule; null when there is no memory
  void (*free)(int index, void* p, size_t bytes);
  void (*discard)(void* p, size_t bytes);  ///< drops the memory behind unused addresses; null: cannot
  /// The allocator hands out a block, or takes it back; what was launched before is before it. Null: nobody looks.
  void (*mark)(int index, void* p, size_t bytes, bool in_use);
  /// In the order of what was launched on the two devices. The host's side is free when it returns, and has the values.
  void (*copy)(void* to, Device to_device, const void* from, Device from_device, size_t bytes);
  void (*synchronize)(int index);  ///< waits for all that was launched; errors found there are thrown
  /// Host memory to the device beside what it computes: `to` is memory as of what was launched before. Host memory is
  /// free when it returns; the values are there for what is launched after arrive(of the result). Null: copy() instead.
  uint64_t (*send)(int index, void* to, const void* from, size_t bytes) = nullptr;
  void (*arrive)(int index, uint64_t sent) = nullptr;
  const Recorder* recorder = nullptr;                      ///< null: there is none
  void* (*stream)(int index) = nullptr;                    ///< cuda_stream.h; null: there are none
  void* (*use_stream)(int index, void* stream) = nullptr;  ///< from now on; gives the one before
  void (*open_range)(const char* name) = nullptr;          ///< profiler_range.h: of this thread
  void (*close_range)() = nullptr;
};

/// DeviceError if this build or this machine lacks the device.
const Backend& backend(Device device);

/// Waits for all that was launched on the device (the CPU never has to wait). Errors that its kernels found are thrown
/// here at the latest.
void synchronize(Device device);

/// For what kernels find and cannot throw: `ask` runs once, after the next wait for the device, in the thread that
/// waited, and may throw. In the order of these calls; what stands behind one that throws waits for the next time.
void after_wait(Device device, std::function<void()> ask);

namespace detail {
void waited(Device device);  ///< called by backends: runs what after_wait was given
}

}  // namespace tutti
#pragma GCC visibility pop
