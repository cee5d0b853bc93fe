// The access recorder. Only .cu files are compiled with -fsanitize=thread and nothing is linked with it: the compiler's
// hooks (__tsan_read4, ...) land here instead of in its library, and see every load and store of a kernel.
//
// For each word (or byte, where less is touched): who wrote it last, and which two threads read it last. Two accesses,
// of which one writes, are ordered if they are of one thread; of one block, with a barrier between; of one warp, with a
// __syncwarp between; or of two blocks, if the first has fenced and then touched an atomic that the second has touched
// later. Anything else is a race, in every thread order.
#include "recorder.h"

#include <link.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "builtins.h"
#include "report.h"
#include "running.h"

namespace emulator {
namespace {

struct Access {
  uint32_t block = 0, barriers = 0, warp_barriers = 0;
  uint16_t thread = 0;
  const void* pc = nullptr;
};
struct Cell {
  Access write, read, other_read;
  bool atomic_write = false, atomic_read = false;
};
constexpr size_t chunk_bytes = 64;
/// Of some bytes: a cell for each `unit` of them, which is a word until somebody touches a part of one.
struct Chunk {
  size_t unit = 4;
  std::vector<Cell> cells = std::vector<Cell>(chunk_bytes / 4);
  void divide(size_t smaller) {
    std::vector<Cell> finer;
    finer.reserve(chunk_bytes / smaller);
    for (const Cell& c : cells) finer.insert(finer.end(), unit / smaller, c);
    cells = std::move(finer);
    unit = smaller;
  }
};

/// What is known of an allocation. Cells only where this launch has been: what earlier launches did is over.
struct Shadow {
  const char* begin;
  size_t bytes;
  bool shared;
  std::vector<uint8_t> initialised;
  std::vector<std::unique_ptr<Chunk>> chunks;
};
std::map<const char*, Shadow>& shadows() {
  static auto& one = *new std::map<const char*, Shadow>;
  return one;
}
Shadow* last_hit = nullptr;
std::vector<std::pair<Shadow*, size_t>> touched;

// Blocks that have published what they wrote, by the atomic they did it with; and those that the running block has
// heard of.
struct Published {
  Access by;
};
std::map<const void*, std::vector<Published>> published;
struct Seen {
  Access published, seen;
};
std::map<uint32_t, Seen> seen;
std::vector<bool> fenced(1024);

Shadow* shadow_at(const char* p) {
  if (last_hit && p >= last_hit->begin && p < last_hit->begin + last_hit->bytes) return last_hit;
  auto found = shadows().upper_bound(p);
  if (found == shadows().begin()) return nullptr;
  --found;
  if (p >= found->first + found->second.bytes) return nullptr;
  return last_hit = &found->second;
}
/// The chunk of the byte at this offset, where accesses are multiples of `unit`.
Chunk& chunk_at(Shadow& s, size_t at, size_t unit) {
  std::unique_ptr<Chunk>& chunk = s.chunks[at / chunk_bytes];
  if (!chunk) {
    chunk = std::make_unique<Chunk>();
    touched.emplace_back(&s, at / chunk_bytes);
  }
  if (chunk->unit > unit) chunk->divide(unit);
  return *chunk;
}

bool ordered(const Access& first, const Access& second) {
  if (first.block == 0) return true;
  if (first.block == second.block)
    return first.thread == second.thread || first.barriers < second.barriers ||
           (first.thread / 32 == second.thread / 32 && first.warp_barriers < second.warp_barriers);
  const auto found = seen.find(first.block);
  if (found == seen.end()) return false;
  const auto& [by, when] = found->second;
  return (first.thread == by.thread || first.barriers < by.barriers) &&
         (second.thread == when.thread || second.barriers > when.barriers);
}

std::string name_of(const Access& a) {
  return "thread " + std::to_string(a.thread) + " of the launch's block " +
         std::to_string(a.block - running.first_block_of_launch + 1) + " (" + source_of(a.pc) + ")";
}
[[noreturn]] void accuse(const std::string& what, const void* pc) { fail_at(what, pc); }

/// Constant tables of the program: a kernel may read them, as nvcc puts them into constant memory.
bool in_constants(const void* p) {
  static auto& ranges = *new std::vector<std::pair<uintptr_t, uintptr_t>>([] {
    std::vector<std::pair<uintptr_t, uintptr_t>> found;
    dl_iterate_phdr(
        [](dl_phdr_info* info, size_t, void* out) {
          for (int i = 0; i < info->dlpi_phnum; ++i) {
            const auto& h = info->dlpi_phdr[i];
            if ((h.p_type == PT_LOAD && !(h.p_flags & PF_W)) || h.p_type == PT_GNU_RELRO)
              static_cast<decltype(found)*>(out)->emplace_back(info->dlpi_addr + h.p_vaddr,
                                                               info->dlpi_addr + h.p_vaddr + h.p_memsz);
          }
          return 0;
        },
        &found);
    return found;
  }());
  const auto at = reinterpret_cast<uintptr_t>(p);
  return std::any_of(ranges.begin(), ranges.end(), [&](const auto& r) { return at >= r.first && at < r.second; });
}
template <class T>
bool inside(const void* p, const T& object) {
  return p >= &object && p < &object + 1;
}
bool of_no_interest(const void* p, bool write) {
  if (on_this_stack(p)) return true;
  if (write) return false;
  return inside(p, threadIdx) || inside(p, blockIdx) || inside(p, blockDim) || inside(p, gridDim) ||
         (p >= running.parameters && p < running.parameters_end);
}

/// GCC has no hook for `x[i] = f()` where f returns a class and is not inlined: then the value shows that it was
/// written.
bool still_filled(const char* p, size_t bytes) {
  return std::all_of(p, p + bytes, [](char c) { return c == static_cast<char>(0xff); });
}
/// What ends shortly before the address.
Shadow* just_before(const char* p) {
  const auto next = shadows().upper_bound(p);
  if (next == shadows().begin()) return nullptr;
  Shadow& s = std::prev(next)->second;
  return p < s.begin + s.bytes + 64 ? &s : nullptr;
}

enum class Kind { read, write, write_later, atomic };

/// Whether the compiler counts on the address being a multiple of the size: not where it copies structs and bytes.
enum class Aligned { no, yes };

void access(const void* v, size_t bytes, Kind kind, const void* pc, Aligned wanted = Aligned::no) {
  if (!running.here() || bytes == 0) return;
  const char* p = static_cast<const char*>(v);
  const bool write = kind != Kind::read, atomic = kind == Kind::atomic, read = kind == Kind::read || atomic;
  if (of_no_interest(p, write)) return;
  Shadow* s = shadow_at(p);
  if (!s) s = just_before(p);
  if (!s) {
    if (!write && in_constants(p)) return;
    accuse(std::string("kernel ") + (write ? "writes" : "reads") +
               " host memory, or outside every live device buffer and shared array",
           pc);
  }
  const size_t at = static_cast<size_t>(p - s->begin);
  const char* const memory = s->shared ? "shared memory" : "device memory";
  if (at + bytes > s->bytes)
    accuse(std::string("out of bounds of ") + memory + ": offset " + std::to_string(at) + " of " +
               std::to_string(s->bytes),
           pc);
  // (GCC's hook for 16 bytes is also that of structs of two 8-byte members, which nvcc copies by halves: the sanitized
  // build tells them from float4.)
  if (wanted == Aligned::yes && reinterpret_cast<uintptr_t>(p) % std::min<size_t>(bytes, 8))
    accuse("misaligned access of " + std::to_string(bytes) + " bytes to " + memory, pc);
  const int id = this_thread().id;
  const Access now{running.block, running.barriers, running.warp_barriers[id / 32], static_cast<uint16_t>(id), pc};
  const size_t most = (at | bytes) % 4 == 0 ? 4 : (at | bytes) % 2 == 0 ? 2 : 1;
  for (size_t i = at, unit = 0; i < at + bytes; i += unit) {
    Chunk& chunk = chunk_at(*s, i, most);
    unit = chunk.unit;
    Cell& c = chunk.cells[i % chunk_bytes / unit];
    const auto initialised = s->initialised.begin() + static_cast<ptrdiff_t>(i);
    const auto race = [&](const char* which, const Access& other) {
      accuse(std::string("race (") + which + ") in " + memory + ", offset " + std::to_string(i) + ": with " +
                 name_of(other),
             pc);
    };
    if (read && std::find(initialised, initialised + unit, 0) != initialised + unit && still_filled(p, bytes))
      accuse(std::string("read of uninitialised ") + memory + ": offset " + std::to_string(i) + " of " +
                 std::to_string(s->bytes),
             pc);
    if (!(atomic && c.atomic_write) && !ordered(c.write, now))
      race(write ? "write after write" : "read after write", c.write);
    if (write) {
      if (!(atomic && c.atomic_read)) {
        if (!ordered(c.read, now)) race("write after read", c.read);
        if (!ordered(c.other_read, now)) race("write after read", c.other_read);
      }
      c.write = now;
      c.atomic_write = atomic;
      std::fill_n(initialised, unit, kind != Kind::write_later);
    }
    if (read) {
      const bool of_another_warp =
          c.read.block != now.block || c.read.thread / 32 != now.thread / 32 || c.read.barriers != now.barriers;
      if (of_another_warp) c.other_read = c.read;
      c.read = now;
      c.atomic_read = atomic;
    }
  }
  if (!atomic || s->shared) return;
  for (const Published& one : published[p])
    if (one.by.block != now.block) seen[one.by.block] = {one.by, now};
  if (fenced[static_cast<size_t>(id)]) published[p].push_back({now});
}

void begin(const char* p, size_t bytes, bool shared) {
  if (Shadow* old = shared ? shadow_at(p) : nullptr;
      old && old->begin == p && old->bytes == bytes) {  // the next block's
    std::fill(old->initialised.begin(), old->initialised.end(), 0);
    for (auto& chunk : old->chunks)
      if (chunk) std::fill(chunk->cells.begin(), chunk->cells.end(), Cell{});
    return;
  }
  last_hit = nullptr;
  shadows()[p] = {p, bytes, shared, std::vector<uint8_t>(bytes),
                  std::vector<std::unique_ptr<Chunk>>((bytes + chunk_bytes - 1) / chunk_bytes)};
}
void end(const char* p) {
  const auto found = shadows().find(p);
  if (found == shadows().end()) return;
  last_hit = nullptr;
  touched.erase(
      std::remove_if(touched.begin(), touched.end(), [&](const auto& t) { return t.first == &found->second; }),
      touched.end());
  shadows().erase(found);
}
void launch() {
  for (const auto& [shadow, chunk] : touched) shadow->chunks[chunk].reset();
  touched.clear();
  published.clear();
}
void block() {
  seen.clear();
  std::fill(fenced.begin(), fenced.end(), false);
}
void host_write(const char* p, size_t bytes) {
  if (Shadow* s = shadow_at(p))
    std::fill_n(s->initialised.begin() + (p - s->begin),
                std::min<size_t>(bytes, s->bytes - static_cast<size_t>(p - s->begin)), 1);
}
void host_copy(const char* to, const char* from, size_t bytes) {
  Shadow* source = shadow_at(from);
  Shadow* target = shadow_at(to);
  if (source && target)
    std::copy_n(source->initialised.begin() + (from - source->begin), bytes,
                target->initialised.begin() + (to - target->begin));
}

const Recorder this_recorder{
    begin,
    end,
    launch,
    block,
    host_write,
    host_copy,
    [](const void* p, size_t n, const void* pc) { access(p, n, Kind::read, pc); },
    [](const void* p, size_t n, const void* pc) { access(p, n, Kind::write, pc); },
    [](const void* p, size_t n, const void* pc) { access(p, n, Kind::write_later, pc); },
    [](const void* p, size_t n, const void* pc) { access(p, n, Kind::atomic, pc, Aligned::yes); },
    [] { fenced[static_cast<size_t>(this_thread().id)] = true; },
};

}  // namespace

const Recorder* recorder = &this_recorder;

}  // namespace emulator

using emulator::access;
using emulator::Aligned;
using emulator::Kind;

#define HERE __builtin_return_address(0)
#define HOOKS(n)                                                                          \
  void __tsan_read##n(void* p) { access(p, n, Kind::read, HERE, Aligned::yes); }          \
  void __tsan_write##n(void* p) { access(p, n, Kind::write, HERE, Aligned::yes); }        \
  void __tsan_unaligned_read##n(void* p) { access(p, n, Kind::read, HERE); }              \
  void __tsan_unaligned_write##n(void* p) { access(p, n, Kind::write, HERE); }            \
  void __tsan_read_write##n(void* p) {                                                    \
    access(p, n, Kind::read, HERE, Aligned::yes);                                         \
    access(p, n, Kind::write, HERE, Aligned::yes);                                        \
  }                                                                                       \
  void __tsan_volatile_read##n(void* p) { access(p, n, Kind::read, HERE, Aligned::yes); } \
  void __tsan_volatile_write##n(void* p) { access(p, n, Kind::write, HERE, Aligned::yes); }

extern "C" {
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
HOOKS(1)
HOOKS(2)
HOOKS(4)
HOOKS(8)
HOOKS(16)
void __tsan_read_range(void* p, size_t n) { access(p, n, Kind::read, HERE); }
void __tsan_write_range(void* p, size_t n) { access(p, n, Kind::write, HERE); }
void* __tsan_memcpy(void* to, const void* from, size_t n) {
  access(from, n, Kind::read, HERE);
  access(to, n, Kind::write, HERE);
  return std::memcpy(to, from, n);
}
void* __tsan_memmove(void* to, const void* from, size_t n) {
  access(from, n, Kind::read, HERE);
  access(to, n, Kind::write, HERE);
  return std::memmove(to, from, n);
}
void* __tsan_memset(void* to, int value, size_t n) {
  access(to, n, Kind::write, HERE);
  return std::memset(to, value, n);
}
}
