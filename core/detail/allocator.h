// The caching allocator of one device. Large segments come from the backend; blocks are cut from them by best fit and
// merged with their free neighbours when they come back, so that the memory touched stays near the most that was alive
// at once. Small blocks have segments of their own and are kept by exact size. All bookkeeping lies outside the blocks:
// the memory may be a GPU's.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "tutti/core/storage.h"

#pragma GCC visibility push(default)
namespace tutti::memory {

class Allocator;

/// A piece of a segment: in use, kept by size, free, or the end of its segment that was never used. All blocks of a
/// segment are linked in the order of their addresses, the end last.
struct Block {
  char* data = nullptr;
  size_t size = 0;                             // a multiple of the granule
  size_t used = 0;                             // in use: the bytes asked for, rounded up to the granule
  Block *before = nullptr, *after = nullptr;   // in the segment
  Block *previous = nullptr, *next = nullptr;  // in the bin of free blocks, or in the list of kept ones
  Allocator* owner = nullptr;
  enum State : uint8_t { in_use, kept, free, end } state = in_use;
  bool small = false;
  bool absent = false;  // free, and its memory was given back
};

class Allocator {
 public:
  Allocator(Device device, const Backend& source);
  /// Gives back what is free; blocks in use are the caller's mistake.
  ~Allocator();
  Allocator(const Allocator&) = delete;
  Allocator& operator=(const Allocator&) = delete;

  /// At least `bytes` (> 0) bytes, 64-byte aligned. MemoryError, after the cache was given up in vain.
  Block* take(size_t bytes);
  void give(Block* block) noexcept;
  Stats stats() const;
  void reset_peak();
  void release_cached();

 private:
  static constexpr size_t least_granule = 64;
  static constexpr size_t small_limit = 32 << 10;  // blocks up to this are kept by size
  static constexpr size_t small_segment = size_t{1} << 20;
  static constexpr size_t bin_count = size_t{64} * 8;  // eight per power of two
  struct Bins {  // free blocks by size; bit b of `filled` tells whether bin b has any
    std::array<Block*, bin_count> head{};
    std::array<uint64_t, bin_count / 64> filled{};
  };

  Block* find(size_t size, bool small);
  Block* fit(size_t size, bool small);
  Block* extend(size_t size, bool small);
  bool grow(size_t size, bool small);
  Block* new_block(char* data, size_t size, bool small);
  void recycle(Block* block);
  void insert(Block* block);
  void remove(Block* block);
  void merge(Block* first, Block* second);
  void make_free(Block* block);
  void flush_kept();
  void release_free();

  const Device device_;
  const Backend& source_;
  const size_t granule_, gap_;  // blocks are multiples of the one; of each, so many bytes at the end are nobody's
  mutable std::mutex mutex_;
  std::array<Block*, small_limit / least_granule + 1> kept_{};
  Bins bins_[2];                 // large, small
  std::vector<Block*> ends_[2];  // of each segment, its end
  Stats stats_;
  size_t resident_ = 0, occupied_ = 0;  // bytes of blocks that may take memory; of those, bytes of blocks in use
  Block* spare_ = nullptr;              // unused Block records
  std::vector<std::unique_ptr<Block[]>> records_;
};

}  // namespace tutti::memory
#pragma GCC visibility pop
