#include "tutti/core/storage.h"

#include <algorithm>
#include <array>
#include <bit>
#include <mutex>
#include <vector>

#include "tutti/core/error.h"

namespace tutti::memory {
namespace {
// Size classes: four per power of two, so at most a quarter is wasted. Index = class, value = free blocks.
constexpr size_t classes = 4 * 48;
size_t class_of(size_t bytes) {
  const size_t n = std::max<size_t>(bytes, 64) - 1;
  const auto log = static_cast<size_t>(std::bit_width(n)) - 1;
  return 4 * log + ((n >> (log - 2)) & 3);
}
size_t size_of_class(size_t c) { return ((4 + (c & 3)) + 1) << (c / 4 - 2); }

struct Pool {
  std::mutex mutex;
  std::array<std::vector<void*>, classes> free;
  Stats stats;
};
Pool& pool(Device d) {
  static std::array<Pool, 2>& pools = *new std::array<Pool, 2>;  // never destroyed: static tensors give back late
  return pools[static_cast<size_t>(d.type)];
}
}  // namespace

Stats stats(Device d) {
  std::lock_guard lock(pool(d).mutex);
  return pool(d).stats;
}
void reset_peak(Device d) {
  std::lock_guard lock(pool(d).mutex);
  pool(d).stats.peak = pool(d).stats.current;
}
void release_cached(Device d) {
  Pool& p = pool(d);
  std::lock_guard lock(p.mutex);
  for (size_t c = 0; c < classes; ++c) {
    for (void* block : p.free[c]) backend(d).free(block, size_of_class(c));
    p.free[c].clear();
  }
  p.stats.cached = 0;
}

void* take(Device d, size_t bytes, size_t& capacity) {
  if (bytes == 0) {
    capacity = 0;
    return nullptr;
  }
  const size_t c = class_of(bytes);
  capacity = size_of_class(c);
  Pool& p = pool(d);
  std::lock_guard lock(p.mutex);
  auto& list = p.free[c];
  void* block = nullptr;
  if (!list.empty()) {
    block = list.back();
    list.pop_back();
    p.stats.cached -= capacity;
    ++p.stats.from_cache;
  } else {
    block = backend(d).allocate(capacity);
    if (!block) throw MemoryError(message("out of memory on ", d, ": ", bytes, " bytes asked for"));
  }
  p.stats.current += capacity;
  p.stats.peak = std::max(p.stats.peak, p.stats.current);
  ++p.stats.allocations;
  return block;
}

void give(Device d, void* block, size_t capacity) noexcept {
  if (!block) return;
  Pool& p = pool(d);
  std::lock_guard lock(p.mutex);
  p.stats.current -= capacity;
  p.stats.cached += capacity;
  p.free[class_of(capacity)].push_back(block);
}

}  // namespace tutti::memory
