// Storage: a counted block of device memory from the caching allocator, and the version that its views share.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tutti/core/backend.h"

#pragma GCC visibility push(default)
namespace tutti {

namespace memory {

/// Bytes and counts of one device's allocator.
struct Stats {
  size_t current = 0;      ///< bytes in use by tensors
  size_t peak = 0;         ///< the most that `current` has been since reset_peak()
  size_t cached = 0;       ///< bytes kept for reuse, not in use
  size_t allocations = 0;  ///< blocks handed out
  size_t from_cache = 0;   ///< of these, how many needed nothing from the system
};
Stats stats(Device device = cpu);
/// Starts a new measurement of Stats::peak at the current use.
void reset_peak(Device device = cpu);
/// Gives cached blocks back to the system.
void release_cached(Device device = cpu);

/// For Storage: a 64-byte aligned block of at least `bytes`; `capacity` is what give() must get back.
/// MemoryError naming the size if there is none.
void* take(Device device, size_t bytes, size_t& capacity);
void give(Device device, void* block, size_t capacity) noexcept;

}  // namespace memory

struct Storage {
  Storage(Device d, size_t n) : device(d), bytes(n) { data = memory::take(d, n, capacity); }
  ~Storage() { memory::give(device, data, capacity); }
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  Device device;
  void* data = nullptr;
  size_t bytes = 0, capacity = 0;
  std::atomic<uint32_t> version{0};  ///< counts changes in place
};

}  // namespace tutti
#pragma GCC visibility pop
