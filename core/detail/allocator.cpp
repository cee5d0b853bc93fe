#include "tutti/core/detail/allocator.h"

#include <algorithm>
#include <bit>

#include "tutti/core/error.h"

#if defined(__SANITIZE_ADDRESS__)
#define TUTTI_ASAN
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TUTTI_ASAN
#endif
#endif
#ifdef TUTTI_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace tutti::memory {
namespace {

// Under the address sanitizer what is not in use is poisoned, and a gap behind each block too, so that reading a
// dropped tensor, or past a tensor's end, is found.
#ifdef TUTTI_ASAN
constexpr size_t host_gap = 64;
void poison(Device d, const void* p, size_t n) {
  if (d.type == DeviceType::cpu) ASAN_POISON_MEMORY_REGION(p, n);
}
void unpoison(Device d, const void* p, size_t n) {
  if (d.type == DeviceType::cpu) ASAN_UNPOISON_MEMORY_REGION(p, n);
}
#else
constexpr size_t host_gap = 0;
void poison(Device, const void*, size_t) {}
void unpoison(Device, const void*, size_t) {}
#endif

size_t round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

constexpr int enough = 64;  // candidates of one bin that are looked at

/// The bin of blocks of this size: its power of two, then the next three bits.
size_t bin_of(size_t size) {
  const auto log = static_cast<size_t>(std::bit_width(size)) - 1;
  return log * 8 + ((size >> (log - 3)) & 7);
}

}  // namespace

Allocator::Allocator(Device device, const Backend& source)
    : device_(device),
      source_(source),
      granule_(source.granule),
      gap_(device.type == DeviceType::cpu ? host_gap : round_up(source.guard, source.granule)) {}

Allocator::~Allocator() { release_cached(); }

Stats Allocator::stats() const {
  const std::lock_guard lock(mutex_);
  Stats s = stats_;
  s.cached = resident_ - occupied_;
  return s;
}

void Allocator::reset_peak() {
  const std::lock_guard lock(mutex_);
  stats_.peak = stats_.current;
}

void Allocator::release_cached() {
  const std::lock_guard lock(mutex_);
  release_free();
}

Block* Allocator::take(size_t bytes) {
  const std::lock_guard lock(mutex_);
  const size_t resident = resident_;
  Block* block = nullptr;
  if (bytes <= size_t{1} << 60) {
    const size_t size = round_up(bytes, granule_) + gap_;
    const bool small = size <= small_limit;
    Block*& kept = kept_[small ? size / granule_ : 0];
    if ((block = kept))
      kept = block->next;
    else
      block = find(size, small);
  }
  if (!block)
    throw MemoryError(
        message("out of memory on ", device_, ": ", bytes, " bytes asked for (", stats_.current, " in use)"));
  block->state = Block::in_use;
  block->used = round_up(bytes, granule_);
  occupied_ += block->size;
  stats_.current += block->used;
  stats_.peak = std::max(stats_.peak, stats_.current);
  ++stats_.allocations;
  if (resident_ == resident) ++stats_.from_cache;
  unpoison(device_, block->data, bytes);
  if (source_.mark) source_.mark(device_.index, block->data, bytes, true);
  return block;
}

void Allocator::give(Block* block) noexcept {
  poison(device_, block->data, block->size);
  const std::lock_guard lock(mutex_);
  if (source_.mark) source_.mark(device_.index, block->data, block->used, false);
  occupied_ -= block->size;
  stats_.current -= block->used;
  if (block->small) {
    block->state = Block::kept;
    Block*& list = kept_[block->size / granule_];
    block->next = list;
    list = block;
  } else {
    make_free(block);
  }
}

/// A block of exactly this size: by all means, in the order of their cost. Null if there is no memory.
Block* Allocator::find(size_t size, bool small) {
  if (Block* b = fit(size, small)) return b;
  if (small) {
    flush_kept();
    if (Block* b = fit(size, small)) return b;
  }
  if (Block* b = extend(size, small)) return b;
  if (grow(size, small)) return extend(size, small);
  release_free();
  if (Block* b = fit(size, small)) return b;
  if (Block* b = extend(size, small)) return b;
  return grow(size, small) ? extend(size, small) : nullptr;
}

/// Cut from the smallest free block that is large enough, of several the lowest. Null if there is none.
Block* Allocator::fit(size_t size, bool small) {
  const Bins& bins = bins_[small];
  Block* best = nullptr;
  for (size_t bin = bin_of(size); !best && bin < bin_count; ++bin) {
    // Skip to the next bin that has blocks. The first one may hold only smaller ones than wanted.
    size_t word = bin / 64;
    uint64_t mask = bins.filled[word] & ~uint64_t{0} << (bin % 64);
    while (!mask && ++word < bins.filled.size()) mask = bins.filled[word];
    if (!mask) return nullptr;
    bin = word * 64 + static_cast<size_t>(std::countr_zero(mask));
    int seen = 0;
    for (Block* b = bins.head[bin]; b && !(best && seen > enough); b = b->next, ++seen)
      if (b->size >= size && (!best || b->size < best->size || (b->size == best->size && b->data < best->data)))
        best = b;
  }
  if (!best) return nullptr;
  Block* const rest = best->size > size ? new_block(best->data + size, best->size - size, small) : nullptr;
  remove(best);
  if (best->absent) resident_ += size;
  if (rest) {
    rest->absent = best->absent;
    rest->before = best;
    rest->after = best->after;
    rest->after->before = rest;
    best->after = rest;
    best->size = size;
    insert(rest);
  }
  best->absent = false;
  return best;
}

/// From the unused end of a segment, with the free block in front of it if there is one: where that touches the least.
Block* Allocator::extend(size_t size, bool small) {
  const auto in_front = [](const Block* end) {
    return end->before && end->before->state == Block::free ? end->before->size : 0;
  };
  Block* end = nullptr;
  for (Block* e : ends_[small])  // (size > in_front(e), or fit() had found that block)
    if (in_front(e) + e->size >= size && (!end || in_front(e) > in_front(end))) end = e;
  if (!end) return nullptr;
  const size_t more = size - in_front(end);
  Block* block = end->before;
  if (more < size) {
    remove(block);
    if (block->absent) resident_ += block->size;
    block->absent = false;
    block->size = size;
  } else {
    block = new_block(end->data, size, small);
    block->before = end->before;
    if (block->before) block->before->after = block;
    block->after = end;
    end->before = block;
  }
  end->data += more;
  end->size -= more;
  resident_ += more;
  poison(device_, block->data, block->size);
  return block;
}

/// One more segment, all of it end; false if the backend has no memory.
bool Allocator::grow(size_t size, bool small) {
  const size_t exact = round_up(size, small ? small_segment : size_t{2} << 20);
  for (size_t bytes : {small ? exact : std::max(exact, source_.segment), exact}) {
    if (auto* data = static_cast<char*>(source_.allocate(device_.index, bytes))) {
      Block* end = new_block(data, bytes, small);
      end->state = Block::end;
      ends_[small].push_back(end);
      return true;
    }
  }
  return false;
}

Block* Allocator::new_block(char* data, size_t size, bool small) {
  if (!spare_) {
    constexpr size_t count = 256;
    records_.push_back(std::make_unique<Block[]>(count));
    for (size_t i = 0; i < count; ++i) recycle(&records_.back()[i]);
  }
  Block* block = spare_;
  spare_ = block->next;
  *block = Block{.data = data, .size = size, .owner = this, .small = small};
  return block;
}

void Allocator::recycle(Block* block) {
  block->next = spare_;
  spare_ = block;
}

void Allocator::insert(Block* block) {
  Bins& bins = bins_[block->small];
  const size_t bin = bin_of(block->size);
  Block*& head = bins.head[bin];
  block->state = Block::free;
  block->previous = nullptr;
  block->next = head;
  if (head) head->previous = block;
  head = block;
  bins.filled[bin / 64] |= uint64_t{1} << (bin % 64);
}

void Allocator::remove(Block* block) {
  Bins& bins = bins_[block->small];
  const size_t bin = bin_of(block->size);
  Block*& head = bins.head[bin];
  (block->previous ? block->previous->next : head) = block->next;
  if (block->next) block->next->previous = block->previous;
  if (!head) bins.filled[bin / 64] &= ~(uint64_t{1} << (bin % 64));
}

/// Joins `second`, which follows `first`, to it. Neither is in a bin.
void Allocator::merge(Block* first, Block* second) {
  if (first->absent != second->absent) resident_ += first->absent ? first->size : second->size;
  first->absent = first->absent && second->absent;
  first->size += second->size;
  first->after = second->after;
  first->after->before = first;
  recycle(second);
}

void Allocator::make_free(Block* block) {
  if (Block* b = block->after; b->state == Block::free) {
    remove(b);
    merge(block, b);
  }
  if (Block* b = block->before; b && b->state == Block::free) {
    remove(b);
    merge(b, block);
    block = b;
  }
  insert(block);
}

void Allocator::flush_kept() {
  for (Block*& list : kept_) {
    while (Block* block = list) {
      list = block->next;
      make_free(block);
    }
  }
}

/// Gives free segments back, and the memory of free blocks in the others where the device can.
void Allocator::release_free() {
  flush_kept();
  for (auto& ends : ends_) {
    std::erase_if(ends, [&](Block* end) {
      if (Block* b = end->before; b && b->state == Block::free && (!b->before || source_.discard)) {  // joins the end
        remove(b);
        if (b->before && !b->absent) source_.discard(b->data, b->size);
        if (!b->absent) resident_ -= b->size;
        end->data = b->data;
        end->size += b->size;
        end->before = b->before;
        if (end->before) end->before->after = end;
        recycle(b);
      }
      if (end->before) return false;
      unpoison(device_, end->data, end->size);
      source_.free(device_.index, end->data, end->size);
      recycle(end);
      return true;
    });
  }
  if (!source_.discard) return;
  for (Bins& bins : bins_)
    for (Block* head : bins.head)
      for (Block* block = head; block; block = block->next) {
        if (block->absent) continue;
        source_.discard(block->data, block->size);
        resident_ -= block->size;
        block->absent = true;
      }
}

}  // namespace tutti::memory
