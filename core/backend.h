// What a backend owes the core: memory. Its kernels are found by the linker through backends/contract/.
#pragma once
#include <cstddef>
#include <functional>

#include "tutti/core/device.h"

#pragma GCC visibility push(default)
namespace tutti {

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
