// Who runs the pieces of a parallel_for: an engine of core/detail/, or this thread alone.
#include "tutti/core/parallel.h"

#include <algorithm>
#include <atomic>

#include "tutti/core/detail/cpu_count.h"
#include "tutti/core/detail/environment.h"
#include "tutti/core/detail/openmp_team.h"
#include "tutti/core/detail/pool.h"
#include "tutti/core/detail/region.h"
#include "tutti/core/error.h"

namespace tutti {
namespace {

thread_local bool in_region = false;  // this thread is running pieces, or wants to be alone: calls stay on it

std::atomic<int> threads_wanted{0};

void check_openmp(const char* who) {
  if (!detail::has_openmp)
    throw ValueError(message(who, ": this build has no OpenMP (configure with -DTUTTI_OPENMP=ON)"));
}

ParallelEngine engine_of_environment() {
  if (detail::environment_word("TUTTI_PARALLEL", {"pool", "openmp"}) != 1) return ParallelEngine::pool;
  check_openmp("TUTTI_PARALLEL=openmp");
  return ParallelEngine::openmp;
}

std::atomic<ParallelEngine>& engine() {
  static std::atomic<ParallelEngine> e{engine_of_environment()};
  return e;
}

}  // namespace

void set_parallel_engine(ParallelEngine wanted) {
  if (wanted == ParallelEngine::openmp) check_openmp("set_parallel_engine");
  engine() = wanted;
}

ParallelEngine parallel_engine() { return engine(); }

void set_num_threads(int n) {
  if (n < 0) throw ValueError(message("set_num_threads: ", n, " is negative"));
  threads_wanted = n;
}

int num_threads() {
  const int n = threads_wanted.load(std::memory_order_relaxed);
  if (n > 0) return n;
  static const int automatic = detail::default_threads();
  return automatic;
}

SerialScope::SerialScope() : before_(in_region) { in_region = true; }
SerialScope::~SerialScope() { in_region = before_; }

void detail::run_pieces(int64_t n, int64_t grain, PieceFn fn, void* self) {
  const int team =
      static_cast<int>(std::min<int64_t>({num_threads(), (n + grain - 1) / grain, detail::Region::max_team}));
  if (team > 1 && !in_region) {
    const SerialScope nested;
    if (engine().load(std::memory_order_relaxed) == ParallelEngine::openmp && run_in_openmp(team, n, grain, fn, self))
      return;
    if (run_in_pool(team, n, grain, fn, self)) return;
  }
  for (int64_t begin = 0; begin < n; begin += grain) fn(self, begin, std::min(n, begin + grain));
}

}  // namespace tutti
