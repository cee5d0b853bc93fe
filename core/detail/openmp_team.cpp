#include "tutti/core/detail/openmp_team.h"

#ifdef _OPENMP
#include <omp.h>
#include <pthread.h>

#include <atomic>
#include <optional>

#include "tutti/core/detail/region.h"
#include "tutti/core/detail/signals.h"
#endif

namespace tutti::detail {

#ifdef _OPENMP

const bool has_openmp = true;

namespace {

std::atomic<bool> in_child{false};

// When the library is loaded, not at its first region: a program may have had regions of its own before it forks.
[[maybe_unused]] const int watched = pthread_atfork(nullptr, nullptr, [] { in_child = true; });

}  // namespace

bool run_in_openmp(int team, int64_t n, int64_t grain, PieceFn fn, void* self) {
  if (in_child.load(std::memory_order_relaxed)) return false;
  thread_local Region region;    // one is enough, since regions do not nest; 33 KB that need not be cleared each time
  Region* const mine = &region;  // the caller's: in the team's threads the name would be their own
  mine->open(team, n, grain, fn, self);
#pragma omp parallel num_threads(team)
  {
    const int t = omp_get_thread_num();
    const SerialScope nested;
    std::optional<SignalsHeld> held;  // as the pool's workers: a piece may be inside oneDNN (backends/cpu/gemm.cpp)
    if (t != 0) held.emplace();
    mine->work(t);
  }
  mine->close();
  return true;
}

#else

const bool has_openmp = false;
bool run_in_openmp(int, int64_t, int64_t, PieceFn, void*) { return false; }

#endif

}  // namespace tutti::detail
