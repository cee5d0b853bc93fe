// Counts the C++ heap, and a test that it does.
#include "fuzz/heap.h"

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include "support/catch.h"

namespace {

std::atomic<size_t> current{0}, peak{0};

void* counted(void* p) {
  if (!p) throw std::bad_alloc();
  const size_t now = current += malloc_usable_size(p);
  size_t before = peak;
  while (now > before && !peak.compare_exchange_weak(before, now)) {
  }
  return p;
}
void release(void* p) noexcept {
  if (p) current -= malloc_usable_size(p);
  std::free(p);
}
void* aligned(size_t bytes, std::align_val_t alignment) {
  const auto a = static_cast<size_t>(alignment);
  return counted(std::aligned_alloc(a, (bytes + a - 1) / a * a));
}

}  // namespace

void* operator new(size_t bytes) { return counted(std::malloc(std::max<size_t>(bytes, 1))); }
void* operator new[](size_t bytes) { return counted(std::malloc(std::max<size_t>(bytes, 1))); }
void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  void* p = std::malloc(std::max<size_t>(bytes, 1));
  return p ? counted(p) : p;
}
void* operator new[](size_t bytes, const std::nothrow_t& n) noexcept { return operator new(bytes, n); }
void* operator new(size_t bytes, std::align_val_t a) { return aligned(bytes, a); }
void* operator new[](size_t bytes, std::align_val_t a) { return aligned(bytes, a); }
void operator delete(void* p) noexcept { release(p); }
void operator delete[](void* p) noexcept { release(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { release(p); }
void operator delete[](void* p, const std::nothrow_t&) noexcept { release(p); }
void operator delete(void* p, size_t) noexcept { release(p); }
void operator delete[](void* p, size_t) noexcept { release(p); }
void operator delete(void* p, std::align_val_t) noexcept { release(p); }
void operator delete[](void* p, std::align_val_t) noexcept { release(p); }
void operator delete(void* p, size_t, std::align_val_t) noexcept { release(p); }
void operator delete[](void* p, size_t, std::align_val_t) noexcept { release(p); }

size_t fuzz::heap_current() { return current; }
size_t fuzz::heap_peak() { return peak; }
void fuzz::reset_heap_peak() { peak = current.load(); }

TEST_CASE("heap: what is taken and given back is counted") {
  const size_t before = fuzz::heap_current();
  fuzz::reset_heap_peak();
  {
    const std::vector<char> million(1'000'000);
    CHECK(fuzz::heap_current() >= before + million.size());
  }
  CHECK(fuzz::heap_current() < before + 10'000);
  CHECK(fuzz::heap_peak() >= before + 1'000'000);
  CHECK(fuzz::heap_peak() < before + 1'100'000);
}
