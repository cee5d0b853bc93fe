// Storage: a counted block of device memory from the caching allocator, and the version that its views share.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "tutti/core/backend.h"

#pragma GCC visibility push(default)
namespace tutti {

namespace memory {

/// Bytes and counts of one device's allocator.
struct Stats {
  size_t current = 0;      ///< bytes in use: what was asked for, each rounded up to 64
  size_t peak = 0;         ///< the most that `current` has been since reset_peak()
  size_t cached = 0;       ///< bytes kept for reuse, not in use (memory never touched does not count)
  size_t allocations = 0;  ///< blocks handed out
  size_t from_cache = 0;   ///< of these, how many needed nothing from the system
};
Stats stats(Device device = default_device());
/// Starts a new measurement of Stats::peak at the current use.
void reset_peak(Device device = default_device());
/// Gives cached blocks back to the system.
void release_cached(Device device = default_device());

/// What Storage is made of (allocator.h): at least `bytes` bytes, 64-byte aligned; null for 0 bytes. MemoryError naming
/// the size if there is no memory.
struct Block;
Block* take(Device device, size_t bytes);
void give(Block* block) noexcept;  ///< null is allowed

}  // namespace memory

struct Recipe;  // autograd/recipe.h

struct Storage {
  Storage(Device d, size_t n);
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  const Device device;
  memory::Block* const block;
  void* const data;  ///< never null, even without bytes
  const size_t bytes;
  std::atomic<uint32_t> version{0};  ///< counts changes in place
  std::weak_ptr<Recipe> recipe;      ///< how backward may make the bytes again; set before anybody else has the storage
};

}  // namespace tutti
#pragma GCC visibility pop
