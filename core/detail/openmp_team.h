// OpenMP's threads behind parallel_for.
#pragma once
#include <cstdint>

#include "tutti/core/parallel.h"

namespace tutti::detail {

/// Whether the library was built with OpenMP.
extern const bool has_openmp;

/// Runs the pieces on a team of OpenMP's, of which this thread is one. False, and nothing is done, where OpenMP cannot:
/// in the child of a fork, whose runtime (GCC's) would wait for ever for threads that only the parent has.
bool run_in_openmp(int team, int64_t n, int64_t grain, PieceFn fn, void* self);

}  // namespace tutti::detail
