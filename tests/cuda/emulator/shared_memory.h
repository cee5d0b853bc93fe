// Shared memory of the block that runs now. Each array stands at exactly the alignment that it was declared with and no
// more, has bounds of its own, and holds NaN when a block begins.
#pragma once
#include <cstddef>

#include "site.h"

namespace emulator {

/// What SHARED() declares: one per declaration, found again in the launch that runs.
class SharedVariable {
 public:
  constexpr SharedVariable(size_t bytes, size_t alignment, const char* name)
      : bytes_(bytes), alignment_(alignment), name_(name) {}
  EMULATOR_SILENT void* get(Site site) { return launch_ == current_launch ? address_ : place(site); }

  static unsigned current_launch;

 private:
  void* place(Site site);
  size_t bytes_, alignment_;
  const char* name_;
  void* address_ = nullptr;
  unsigned launch_ = 0;
};

void* dynamic_shared(size_t alignment, Site site);

// Inside the emulator.
void begin_shared(size_t dynamic_bytes, bool opted_in);  ///< of a launch
void end_shared();
bool in_shared(const void* p, size_t bytes);  ///< all of it in one array

}  // namespace emulator
