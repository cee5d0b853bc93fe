#include "shared_memory.h"

#include <cstring>
#include <string>
#include <vector>

#include "emulator.h"
#include "recorder.h"
#include "report.h"
#include "running.h"
#include "sanitizer.h"

namespace emulator {
namespace {

constexpr size_t static_limit = 48 * 1024;  // also of static and dynamic together, unless opted in
constexpr size_t gap = 64;                  // between arrays
constexpr size_t biggest_alignment = 1024;

alignas(2 * biggest_alignment) char memory[1 << 20];
struct Array {
  char* begin;
  size_t bytes;
};
std::vector<Array> arrays;  // of this launch
size_t used, declared, dynamic_size, dynamic_alignment;
bool with_opt_in;
char* dynamic_begin;

/// An address that is a multiple of the alignment, and of no higher power of two.
char* place_array(size_t bytes, size_t alignment, Site site) {
  size_t at = (used + gap + alignment - 1) / alignment * alignment;
  if (at / alignment % 2 == 0) at += alignment;
  if (at + bytes + gap > sizeof memory) fail(std::string("shared memory: no room"), site);
  used = at + bytes;
  char* p = memory + at;
  arrays.push_back({p, bytes});
  return p;
}
void make_fresh(const Array& a) {
  allow_memory(a.begin, a.bytes);
  std::memset(a.begin, 0xff, a.bytes);
  if (recorder) recorder->begin(a.begin, a.bytes, /*shared=*/true);
}
void check_limit(Site site) {
  if (declared > static_limit)
    fail("more than 48 KB of static shared memory (" + std::to_string(declared) + " bytes)", site);
  const size_t limit = with_opt_in ? config().shared : static_limit, all = declared + dynamic_size;
  if (all > limit)
    fail("static and dynamic shared memory: " + std::to_string(all) + " bytes, more than " + std::to_string(limit),
         site);
}

}  // namespace

unsigned SharedVariable::current_launch = 1;

void* SharedVariable::place(Site site) {
  declared += bytes_;
  check_limit(site);
  if (alignment_ > biggest_alignment)
    fail(std::string(name_) + ": shared memory aligned to more than 1024 bytes", site);
  address_ = place_array(bytes_, alignment_, site);
  launch_ = current_launch;
  make_fresh(arrays.back());
  return address_;
}

void* dynamic_shared(size_t alignment, Site site) {
  if (dynamic_size == 0) fail("dynamic shared memory in a launch that asks for none", site);
  if (dynamic_begin && dynamic_alignment != alignment)
    fail("dynamic shared memory is declared with two alignments", site);
  if (!dynamic_begin) {
    check_limit(site);
    dynamic_begin = place_array(dynamic_size, dynamic_alignment = alignment, site);
    make_fresh(arrays.back());
  }
  return dynamic_begin;
}

void begin_shared(size_t dynamic_bytes, bool opted_in) {
  ++SharedVariable::current_launch;
  used = declared = 0;
  dynamic_size = dynamic_bytes;
  dynamic_begin = nullptr;
  with_opt_in = opted_in;
  forbid_memory(memory, sizeof memory);
}
void begin_block() {
  if (recorder) recorder->block();
  for (const Array& a : arrays) make_fresh(a);
}
void end_shared() {
  for (const Array& a : arrays)
    if (recorder) recorder->end(a.begin);
  arrays.clear();
  ++SharedVariable::current_launch;
}
bool in_shared(const void* p, size_t bytes) {
  const char* at = static_cast<const char*>(p);
  for (const Array& a : arrays)
    if (at >= a.begin && at + bytes <= a.begin + a.bytes) return true;
  return false;
}

}  // namespace emulator
