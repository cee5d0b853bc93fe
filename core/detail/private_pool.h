// Memory of a device that nothing else is given: for recorded work, which uses the same addresses at each replay.
#pragma once
#include <memory>

#include "tutti/core/storage.h"

#pragma GCC visibility push(default)
namespace tutti::memory {

class Allocator;

class PrivatePool {
 public:
  /// DeviceError if the device cannot record.
  explicit PrivatePool(Device device);
  /// Its memory goes back when the last tensor in it is gone.
  ~PrivatePool();
  PrivatePool(const PrivatePool&) = delete;
  PrivatePool& operator=(const PrivatePool&) = delete;

  /// While one lives, this thread's memory of the device comes from the pool; from a null pool: from where it always
  /// comes.
  class Scope {
   public:
    explicit Scope(const PrivatePool* pool);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    const PrivatePool* before_;
  };

 private:
  friend Block* take(Device device, size_t bytes);
  Device device_;
  std::unique_ptr<Allocator> allocator_;
};

}  // namespace tutti::memory
#pragma GCC visibility pop
