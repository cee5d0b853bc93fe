// The CPU as a backend: host memory. Its kernels are in kernels/.
#include "tutti/core/backend.h"

#include <sys/mman.h>
#include <sys/sysinfo.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace tutti {
namespace {

// Large pieces on huge pages: measured on a Zen 4, first touching 8 MB takes 4.1 ms on pages of 4 KB, 0.24 ms on these.
constexpr size_t huge_page = size_t{2} << 20, page = 4096;

/// Memory and swap of the machine. Mappings beyond it succeed (nothing is reserved), but filling them would get the
/// process killed where the caller should see a MemoryError.
size_t machine_bytes() {
  struct sysinfo info {};
  return sysinfo(&info) == 0 ? (info.totalram + info.totalswap) * info.mem_unit : SIZE_MAX;
}

void* allocate(int, size_t bytes) {
  if (bytes < huge_page) return std::aligned_alloc(64, (bytes + 63) / 64 * 64);
  static const size_t most = machine_bytes();
  if (bytes > most) return nullptr;
  void* mapped =
      mmap(nullptr, bytes + huge_page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  // Cut to the alignment of huge pages.
  char* const begin = static_cast<char*>(mapped);
  const size_t before = -reinterpret_cast<uintptr_t>(begin) % huge_page;
  if (before) munmap(begin, before);
  if (before < huge_page) munmap(begin + before + bytes, huge_page - before);
  madvise(begin + before, bytes, MADV_HUGEPAGE);  // advice only: without it the memory is slower, not wrong
  return begin + before;
}

void release(int, void* p, size_t bytes) {
  if (bytes < huge_page)
    std::free(p);
  else
    munmap(p, bytes);
}

void discard(void* p, size_t bytes) {
  const size_t skip = -reinterpret_cast<uintptr_t>(p) % page;
  if (bytes > skip) madvise(static_cast<char*>(p) + skip, (bytes - skip) / page * page, MADV_DONTNEED);
}

void copy(void* to, Device, const void* from, Device, size_t bytes) {
  if (bytes) std::memcpy(to, from, bytes);
}

}  // namespace

extern const Backend cpu_backend;
// Addresses are cheap, memory is taken only where it is touched; and free blocks of one segment can merge.
const Backend cpu_backend{.name = "cpu",
                          .segment = size_t{1} << 30,
                          .granule = 64,
                          .guard = 0,
                          .count = [] { return 1; },
                          .select = [](int) {},
                          .allocate = allocate,
                          .free = release,
                          .discard = discard,
                          .mark = nullptr,
                          .copy = copy,
                          .synchronize = [](int) {}};

}  // namespace tutti
