// The thread pool behind parallel_for.
#pragma once
#include <cstdint>

#include "tutti/core/parallel.h"

namespace tutti::detail {

/// Runs the pieces on this thread and up to team - 1 workers. False, and nothing is done, if another thread is using
/// the pool.
bool run_in_pool(int team, int64_t n, int64_t grain, PieceFn fn, void* self);

}  // namespace tutti::detail
