// Transfer: host memory on its way to a device, beside what the device computes.
#pragma once
#include <cstddef>
#include <cstdint>

#include "tutti/core/backend.h"

#pragma GCC visibility push(default)
namespace tutti {

class Transfer {
 public:
  Transfer() = default;
  /// Begins. `to` must stay until arrive(); host memory is free again at once.
  Transfer(Device device, void* to, const void* from, size_t bytes);
  Transfer(Transfer&& other) noexcept;
  Transfer& operator=(Transfer&& other) noexcept;
  ~Transfer();
  /// What is launched on the device after this has the values. The host does not wait.
  void arrive();

 private:
  Device device_ = cpu;  // cpu: nothing is under way
  uint64_t sent_ = 0;
};

}  // namespace tutti
#pragma GCC visibility pop
