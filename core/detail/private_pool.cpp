#include "tutti/core/detail/private_pool.h"

#include <list>
#include <map>
#include <mutex>

#include "tutti/core/detail/allocator.h"
#include "tutti/core/error.h"

namespace tutti::memory {
namespace {

/// Its backend, but for whole segments in one piece: no checker is told of blocks whose lives are repeated.
const Backend& source(Device device) {
  const Backend& general = backend(device);
  if (!general.recorder) throw DeviceError(message("device ", device, " cannot record work"));
  static std::mutex mutex;
  static auto& all = *new std::map<DeviceType, Backend>;
  const std::lock_guard lock(mutex);
  const auto [one, made] = all.try_emplace(device.type, general);
  if (made) {
    one->second.allocate = general.recorder->allocate;
    one->second.mark = nullptr;
  }
  return one->second;
}

/// Allocators of pools that are gone, with blocks that are not.
struct Retired {
  std::mutex mutex;
  std::list<std::unique_ptr<Allocator>> list;
  void add(std::unique_ptr<Allocator> one) {
    const std::lock_guard lock(mutex);
    list.push_back(std::move(one));
    list.remove_if([](const auto& a) { return a->stats().current == 0; });
  }
};
Retired& retired() {
  static auto& all = *new Retired;
  return all;
}

}  // namespace

PrivatePool::PrivatePool(Device device)
    : device_(device), allocator_(std::make_unique<Allocator>(device, source(device))) {}
PrivatePool::~PrivatePool() { retired().add(std::move(allocator_)); }

}  // namespace tutti::memory
