// parallel_for: work cut by its size, never by the number of threads, so that results do not depend on it.
#pragma once
#include <cstdint>
#include <memory>
#include <type_traits>

#include "tutti/core/inline.h"

#pragma GCC visibility push(default)
namespace tutti {

/// The most threads that an operation uses, the caller's included. 0 restores the default: OMP_NUM_THREADS if set, else
/// the CPUs this process may use (affinity and cgroup quota). ValueError if negative.
void set_num_threads(int n);
int num_threads();

/// Whose threads run the pieces. The bits are the same. `pool`: threads of our own, the default: quickest when the
/// machine is quiet. `openmp`: OpenMP's team, shared with a program that has regions of its own; in a region of the
/// caller's, it makes as many threads as OpenMP's nesting allows (by default none). core/README.md says which to
/// choose.
enum class ParallelEngine { pool, openmp };
/// For the whole process; TUTTI_PARALLEL=pool|openmp says what it starts with. ValueError if this build has no OpenMP.
/// In the child of a fork the pool runs, whatever was set: OpenMP's threads stayed with the parent.
void set_parallel_engine(ParallelEngine engine);
ParallelEngine parallel_engine();

/// While one lives, parallel_for on this thread runs on this thread alone: for background threads that should leave the
/// other cores to the program's main work.
class SerialScope {
 public:
  SerialScope();
  ~SerialScope();
  SerialScope(const SerialScope&) = delete;
  SerialScope& operator=(const SerialScope&) = delete;

 private:
  bool before_;
};

namespace detail {
using PieceFn = void (*)(void* self, int64_t begin, int64_t end);
void run_pieces(int64_t n, int64_t grain, PieceFn fn, void* self);
}  // namespace detail

/// Calls body(begin, end) for pieces of `grain` (the last may be shorter), in any order, on any thread; returns when
/// all are done. If bodies throw, the exception of the lowest piece is thrown. Nested calls run on the calling thread.
template <class F>
TUTTI_INLINE void parallel_for(int64_t n, int64_t grain, F&& body) {
  if (n <= grain) {
    if (n > 0) body(int64_t{0}, n);
    return;
  }
  using Body = std::remove_reference_t<F>;
  detail::run_pieces(
      n, grain, [](void* self, int64_t begin, int64_t end) { (*static_cast<Body*>(self))(begin, end); },
      const_cast<void*>(static_cast<const void*>(&body)));
}

}  // namespace tutti
#pragma GCC visibility pop
