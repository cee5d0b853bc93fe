// What a backend owes the core: memory. Its kernels are found by the linker through backends/contract/.
#pragma once
#include <cstddef>

#include "tutti/core/device.h"

#pragma GCC visibility push(default)
namespace tutti {

struct Backend {
  const char* name;
  size_t segment;                   ///< bytes that the caching allocator asks for at once, at least
  void* (*allocate)(size_t bytes);  ///< 64-byte aligned; null when there is no memory
  void (*free)(void* p, size_t bytes);
  void (*discard)(void* p, size_t bytes);  ///< drops the memory behind unused addresses; null: cannot
  void (*copy)(void* to, Device to_device, const void* from, Device from_device, size_t bytes);
  void (*synchronize)();
};

/// DeviceError if this build or this machine lacks the device.
const Backend& backend(Device device);

}  // namespace tutti
#pragma GCC visibility pop
