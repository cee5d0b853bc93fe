#include "tutti/core/storage.h"

#include <map>
#include <mutex>
#include <utility>

#include "tutti/core/detail/allocator.h"
#include "tutti/core/detail/private_pool.h"

namespace tutti {
namespace memory {
namespace {

// Allocators are never destroyed: static tensors give back late.
Allocator& allocator(Device device) {
  if (device == cpu) {
    static Allocator& host = *new Allocator(cpu, backend(cpu));
    return host;
  }
  static std::mutex mutex;
  static auto& others = *new std::map<std::pair<DeviceType, int>, Allocator>;
  const std::lock_guard lock(mutex);
  return others.try_emplace({device.type, device.index}, device, backend(device)).first->second;
}

thread_local const PrivatePool* chosen_pool = nullptr;

}  // namespace

Stats stats(Device device) { return allocator(device).stats(); }
void reset_peak(Device device) { allocator(device).reset_peak(); }
void release_cached(Device device) { allocator(device).release_cached(); }

PrivatePool::Scope::Scope(const PrivatePool* pool) : before_(std::exchange(chosen_pool, pool)) {}
PrivatePool::Scope::~Scope() { chosen_pool = before_; }

Block* take(Device device, size_t bytes) {
  if (!bytes) return nullptr;
  if (chosen_pool && chosen_pool->device_ == device) [[unlikely]]
    return chosen_pool->allocator_->take(bytes);
  return allocator(device).take(bytes);
}
void give(Block* block) noexcept {
  if (block) block->owner->give(block);
}

}  // namespace memory

namespace {
alignas(64) char nothing[64];  // where tensors without elements point: offsets from a null pointer are undefined
}

Storage::Storage(Device d, size_t n)
    : device(d), block(memory::take(d, n)), data(block ? block->data : nothing), bytes(n) {}
Storage::~Storage() { memory::give(block); }

}  // namespace tutti
