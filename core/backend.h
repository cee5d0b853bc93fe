// What a backend owes the core: memory. Its kernels are found by the linker through backends/contract/.
#pragma once
#include <cstddef>

#include "tutti/core/device.h"

#pragma GCC visibility push(default)
namespace tutti {

struct Backend {
  const char* name;
  void* (*allocate)(size_t bytes);  ///< 64-byte aligned; null when there is no memory
  void (*free)(void* p, size_t bytes);
  void (*copy)(void* to, Device to_device, const void* from, Device from_device, size_t bytes);
  void (*synchronize)();
};

/// DeviceError if this build or this machine lacks the device.
const Backend& backend(Device device);

}  // namespace tutti
#pragma GCC visibility pop
