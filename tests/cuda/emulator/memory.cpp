#include "memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <iterator>
#include <map>
#include <utility>

#include "recorder.h"
#include "report.h"
#include "running.h"
#include "sanitizer.h"

namespace emulator {
namespace {

constexpr size_t arena_bytes = size_t{16} << 30;  // of addresses; memory only where it is touched
constexpr size_t huge_page = size_t{2} << 20;
constexpr size_t alignment = 256;  // what cudaMalloc promises
constexpr size_t quarantine_bytes = size_t{64} << 20;
constexpr int most_devices = 8;

struct Arena {
  char* begin = nullptr;
  size_t used = 0;
  size_t in_use = 0;
  int opened = 0;
  bool lingers = false;                             // opened by none, and not closed yet
  std::multimap<size_t, char*> holes;               // by size
  std::deque<std::pair<char*, size_t>> quarantine;  // freed, not handed out again yet
  size_t in_quarantine = 0;
};
struct Record {
  size_t bytes;
  int device;
  bool live;
  bool part;  // of a divided segment
};
struct State {
  Arena arenas[most_devices];
  int lingering = 0;
  std::map<char*, Record> blocks;
  std::map<char*, Record> segments;  // divided ones
};
State& state() {
  static State& one = *new State;
  return one;
}

// Between two blocks stay at least 256 bytes that nobody may touch; every second multiple of 256, so that nobody comes
// to rely on more.
size_t stride_of(size_t bytes) {
  return (bytes + alignment - 1) / alignment * alignment / (2 * alignment) * (2 * alignment) + 2 * alignment;
}

// Whole huge pages, as the cost is by pages that have been touched.
void protect(Arena& arena, int how) {
  if (arena.used) mprotect(arena.begin, (arena.used + huge_page - 1) / huge_page * huge_page, how);
}
void close(Arena& arena) {
  arena.lingers = false;
  protect(arena, PROT_NONE);
}
Arena& arena_of(int device) {
  Arena& arena = state().arenas[device];
  if (!arena.begin) {
    void* p = mmap(nullptr, arena_bytes + huge_page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) fail("the emulator cannot have addresses for device memory", Site::here());
    const auto address = reinterpret_cast<uintptr_t>(p);
    arena.begin = static_cast<char*>(p) + ((address + huge_page - 1) / huge_page * huge_page - address);
    madvise(arena.begin, arena_bytes, MADV_HUGEPAGE);  // where the system has none it is slower
  }
  return arena;
}
void fill(char* p, size_t n) {
  const Open open(device_of(p));
  allow_memory(p, n);
  std::memset(p, 0xff, n);
}

}  // namespace

void* take_address(int device, size_t bytes) {
  Arena& arena = arena_of(device);
  if (arena.in_use + bytes > config().memory) return nullptr;
  const size_t stride = stride_of(bytes);
  char* p;
  if (const auto hole = arena.holes.find(stride); hole != arena.holes.end()) {
    p = hole->second;
    arena.holes.erase(hole);
  } else {
    if (arena.used + stride + alignment > arena_bytes) return nullptr;
    p = arena.begin + arena.used + alignment;
    arena.used += stride;
    if (arena.opened || arena.lingers) protect(arena, PROT_READ | PROT_WRITE);
    forbid_memory(p - alignment, stride);
  }
  arena.in_use += bytes;
  state().blocks[p] = {bytes, device, false, false};
  return p;
}

void begin_life(void* v) {
  char* p = static_cast<char*>(v);
  Record& r = state().blocks.at(p);
  r.live = true;
  fill(p, r.bytes);
  if (recorder) recorder->begin(p, r.bytes, /*shared=*/false);
}

void end_life(void* v) {
  char* p = static_cast<char*>(v);
  Record& r = state().blocks.at(p);
  if (!r.live) return;
  r.live = false;
  if (recorder) recorder->end(p);
  fill(p, r.bytes);
  forbid_memory(p, (r.bytes + 7) / 8 * 8);
}

bool is_taken(const void* v) {
  char* p = static_cast<char*>(const_cast<void*>(v));
  const auto block = state().blocks.find(p);
  return (block != state().blocks.end() && !block->second.part) || state().segments.count(p);
}

bool give_address(void* v) {
  char* p = static_cast<char*>(v);
  State& s = state();
  if (!is_taken(p)) return false;
  if (const auto segment = s.segments.find(p); segment != s.segments.end()) {
    for (auto part = s.blocks.lower_bound(p); part != s.blocks.end() && part->first < p + segment->second.bytes;) {
      end_life(part->first);
      part = s.blocks.erase(part);
    }
    s.blocks[p] = segment->second;
    s.segments.erase(segment);
  }
  end_life(p);
  const Record r = s.blocks.at(p);
  s.blocks.erase(p);
  Arena& arena = s.arenas[r.device];
  arena.in_use -= r.bytes;
  arena.quarantine.emplace_back(p, stride_of(r.bytes));
  arena.in_quarantine += stride_of(r.bytes);
  while (arena.in_quarantine > quarantine_bytes) {
    const auto [old, stride] = arena.quarantine.front();
    arena.quarantine.pop_front();
    arena.in_quarantine -= stride;
    arena.holes.emplace(stride, old);
  }
  return true;
}

Block block_at(const void* v) {
  char* p = static_cast<char*>(const_cast<void*>(v));
  auto block = state().blocks.upper_bound(p);
  if (block == state().blocks.begin()) return {};
  --block;
  if (!block->second.live || p >= block->first + block->second.bytes) return {};
  return {block->first, block->second.bytes, block->second.device};
}
int device_of(const void* p) {
  for (int d = 0; d < most_devices; ++d) {
    const char* begin = state().arenas[d].begin;
    if (begin && p >= begin && p < begin + arena_bytes) return d;
  }
  return -1;
}
size_t bytes_free(int device) { return config().memory - arena_of(device).in_use; }
size_t bytes_in_use() {
  const Lock lock(mutex());
  size_t n = 0;
  for (const Arena& arena : state().arenas) n += arena.in_use;
  return n;
}

bool inside_block(const char* what, const void* p, size_t bytes) {
  if (bytes == 0) return true;
  const Block block = block_at(p);
  const size_t at = block.begin ? static_cast<size_t>(static_cast<const char*>(p) - block.begin) : 0;
  if (block.begin && at + bytes <= block.bytes) return true;
  note(std::string(what) + (block.begin
                                ? " past the end of a device buffer: " + std::to_string(bytes) + " bytes at offset " +
                                      std::to_string(at) + " of " + std::to_string(block.bytes)
                                : " outside every live device buffer"));
  return false;
}

bool let_through(void* address) {
  const int d = device_of(address);
  if (d < 0) return false;
  char* page = static_cast<char*>(address) - reinterpret_cast<uintptr_t>(address) % 4096;
  mprotect(page, 2 * 4096, PROT_READ | PROT_WRITE);  // two, for an access that straddles them
  return true;
}

Open::Open(int device) : device_(device) {
  mutex().lock();
  for (int d = 0; d < most_devices; ++d) {
    Arena& arena = state().arenas[d];
    if (!arena.begin) continue;
    const bool wanted = device == every_device || d == device;
    if (wanted && arena.opened++ == 0 && !std::exchange(arena.lingers, false)) protect(arena, PROT_READ | PROT_WRITE);
    if (!wanted && arena.lingers) close(arena);
  }
}
Open::~Open() {
  for (int d = 0; d < most_devices; ++d) {
    Arena& arena = state().arenas[d];
    if (!arena.begin || (device_ != every_device && d != device_) || --arena.opened > 0) continue;
    if (state().lingering)
      arena.lingers = true;
    else
      close(arena);
  }
  catch_wild_accesses();
  mutex().unlock();
}

void close_to_host() {
  for (Arena& arena : state().arenas)
    if (arena.lingers) close(arena);
}
Linger::Linger() { ++state().lingering; }
Linger::~Linger() {
  if (--state().lingering == 0) close_to_host();
}

void divide(void* segment) {
  const Lock lock(mutex());
  char* p = static_cast<char*>(segment);
  end_life(p);
  state().segments[p] = state().blocks.at(p);
  state().blocks.erase(p);
}

void begin_part(void* v, size_t bytes) {
  char* p = static_cast<char*>(v);
  State& s = state();
  const auto next = s.blocks.lower_bound(p);
  const bool overlaps_next = next != s.blocks.end() && next->first < p + bytes;
  const bool overlaps_last = next != s.blocks.begin() && std::prev(next)->first + std::prev(next)->second.bytes > p;
  if (overlaps_next || overlaps_last) {
    note("an allocator hands out memory that is still in use (" + std::to_string(bytes) + " bytes)");
    return;
  }
  s.blocks[p] = {bytes, device_of(p), false, true};
  begin_life(p);
}
void end_part(void* v) {
  char* p = static_cast<char*>(v);
  const auto found = state().blocks.find(p);
  if (found == state().blocks.end() || !found->second.part) {
    note("an allocator takes back memory that is not in use");
    return;
  }
  end_life(p);
  state().blocks.erase(found);
}

}  // namespace emulator
