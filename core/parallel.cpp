#include "tutti/core/parallel.h"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <exception>

#include "tutti/core/error.h"

namespace tutti {
namespace {
std::atomic<int> threads_wanted{0};
}
void set_num_threads(int n) {
  if (n < 0) throw ValueError(message("set_num_threads: ", n, " is negative"));
  threads_wanted = n;
}
int num_threads() {
  const int n = threads_wanted.load(std::memory_order_relaxed);
  return n > 0 ? n : omp_get_max_threads();
}

namespace detail {
void run_pieces(int64_t n, int64_t grain, PieceFn fn, void* self) {
  const int64_t pieces = (n + grain - 1) / grain;
  const int team = static_cast<int>(std::min<int64_t>(num_threads(), pieces));
  const auto run = [&](int64_t i) { fn(self, i * grain, std::min(n, (i + 1) * grain)); };
  if (team <= 1 || omp_in_parallel()) {
    for (int64_t i = 0; i < pieces; ++i) run(i);
    return;
  }
  std::exception_ptr error;  // an exception may not leave an OpenMP region
  int64_t first = pieces;
#pragma omp parallel for num_threads(team) schedule(dynamic, 1)
  for (int64_t i = 0; i < pieces; ++i) {
    try {
      run(i);
    } catch (...) {
#pragma omp critical
      if (i < first) {
        first = i;
        error = std::current_exception();
      }
    }
  }
  if (error) std::rethrow_exception(error);
}
}  // namespace detail
}  // namespace tutti
