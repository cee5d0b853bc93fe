#include "async_copy.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "atomics.h"
#include "builtins.h"
#include "memory.h"
#include "recorder.h"
#include "running.h"

namespace emulator {

void copy_later(void* to, const void* from, size_t bytes, size_t zeros, const void* pc, Site site) {
  const std::string name = "asynchronous copy: ";
  if (bytes != 4 && bytes != 8 && bytes != 16) fail(name + std::to_string(bytes) + " bytes (4, 8 or 16)", site);
  if (zeros > bytes) fail(name + "more zeros than bytes", site);
  if (reinterpret_cast<uintptr_t>(to) % bytes || reinterpret_cast<uintptr_t>(from) % bytes)
    fail(name + "misaligned", site);
  if (!in_shared(to, bytes)) fail(name + "its target is not inside one shared array", site);
  Thread& me = this_thread();
  if (bytes > zeros) {
    const Block block = block_at(from);
    if (!block.begin || static_cast<const char*>(from) + (bytes - zeros) > block.begin + block.bytes)
      fail(name + "its source is not inside a device buffer", site);
    if (recorder) recorder->read(from, bytes - zeros, pc);
  }
  if (recorder) recorder->write_later(to, bytes, pc);
  std::memset(to, 0xff, bytes);
  me.site = site;
  me.copies.push_back({to, from, static_cast<unsigned>(bytes), static_cast<unsigned>(zeros), me.copy_group});
}

void commit_copies() { ++this_thread().copy_group; }

void wait_for_copies(unsigned newest_left) { finish_copies(this_thread(), newest_left); }

void finish_copies(Thread& thread, unsigned newest_left) {
  auto& copies = thread.copies;
  const auto finished = [&](const PendingCopy& c) { return c.group + newest_left < thread.copy_group; };
  for (const PendingCopy& c : copies) {
    if (!finished(c)) continue;
    const unsigned read = c.bytes - c.zeros;
    if (recorder) recorder->write(c.to, c.bytes, __builtin_return_address(0));
    if (read) std::memcpy(c.to, c.from, read);
    std::memset(static_cast<char*>(c.to) + read, 0, c.zeros);
  }
  copies.erase(std::remove_if(copies.begin(), copies.end(), finished), copies.end());
}

void touch_atomically(const void* p, size_t bytes, const void* pc) {
  if (recorder) recorder->atomic(p, bytes, pc);
}
void fence() {
  if (recorder) recorder->fence();
}

}  // namespace emulator
