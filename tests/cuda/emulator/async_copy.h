// cp.async by the toolkit's own names (cuda_pipeline_primitives.h). A copy happens when its thread waits for it and no
// sooner; until then what it writes to holds NaN: on a GPU it may happen at any time between the two.
#pragma once
#include <cstddef>

#include "site.h"

namespace emulator {
void copy_later(void* to, const void* from, size_t bytes, size_t zeros, const void* pc, Site site);
void commit_copies();
void wait_for_copies(unsigned newest_left);
}  // namespace emulator

/// 4, 8 or 16 bytes, aligned to as many; the last `zeros` of them are not read but zero.
EMULATOR_SILENT __attribute__((noinline)) inline void __pipeline_memcpy_async(void* shared, const void* global,
                                                                              size_t bytes, size_t zeros = 0,
                                                                              EMULATOR_SITE) {
  emulator::copy_later(shared, global, bytes, zeros, __builtin_return_address(0), site);
}
inline void __pipeline_commit() { emulator::commit_copies(); }
/// Waits for all of this thread's groups but the newest ones. Other threads see the copies after a barrier.
inline void __pipeline_wait_prior(size_t newest_left) { emulator::wait_for_copies(static_cast<unsigned>(newest_left)); }
