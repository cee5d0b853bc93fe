// Scratch: memory that a kernel needs only while it runs. From the device's caching allocator, so it is cheap after the
// first time and counted in memory::stats. Out of line, so that no allocation code is compiled per instruction set.
#pragma once
#include <cstddef>

#include "tutti/core/device.h"
#include "tutti/core/inline.h"

#pragma GCC visibility push(default)
namespace tutti {
namespace memory {
struct Block;
}

class Scratch {
 public:
  /// `bytes` of uninitialised memory, 64-byte aligned. MemoryError if there is none. A GPU's is free again for what is
  /// launched after the end of this object's life.
  explicit Scratch(size_t bytes, Device device = {});  // (cpu: naming it would make it a symbol of kernel files)
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  TUTTI_INLINE void* data() const { return data_; }

 private:
  memory::Block* block_;
  void* data_;
};

}  // namespace tutti
#pragma GCC visibility pop
