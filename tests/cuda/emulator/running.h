// Inside the emulator: the launch that runs now. One at a time, one block after another, one thread after another.
#pragma once
#include <pthread.h>
#include <vector_types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "block.h"
#include "fiber.h"

namespace emulator {

enum class ThreadState { ready, at_barrier, in_collective, done };

/// An asynchronous copy to shared memory that its thread has not waited for.
struct PendingCopy {
  void* to;
  const void* from;
  unsigned bytes, zeros;  // the last `zeros` of them are filled
  unsigned group;
};

struct Thread {
  Fiber fiber;
  int id = 0;
  uint3 index{};
  ThreadState state = ThreadState::done;
  Site site{};
  int predicate = 0;
  unsigned mask = 0;
  WarpFunction function = nullptr;
  const void* in = nullptr;
  void* out = nullptr;
  int parameter = 0;
  std::vector<PendingCopy> copies;
  unsigned copy_group = 0;  // the one that copies now join
};

/// For the access recorder: who runs, and between which barriers.
struct Running {
  bool kernel = false;
  pthread_t host{};  ///< whose launch it is
  /// Whether this host thread runs the kernel: meanwhile others run host code of the same files.
  bool here() const { return kernel && pthread_equal(host, pthread_self()); }
  int device = 0;
  uint32_t block = 0;  ///< counted over all launches, so never the same twice
  uint32_t first_block_of_launch = 0;
  uint32_t barriers = 0;            ///< passed by this block
  uint32_t warp_barriers[32] = {};  ///< passed by each warp of it
  const char *parameters = nullptr, *parameters_end = nullptr;
};
extern Running running;

Thread& this_thread();
bool on_this_stack(const void* p);

/// Runs the body once per thread of the grid. False if a fault has ended it.
bool run_grid(dim3 grid, dim3 block, void (*body)(const void*), const void* parameters);
[[noreturn]] void fail(const std::string& what, Site site);
/// The same for a signal handler that has let the kernel's stack return into it.
[[noreturn]] void fail_at(const std::string& what, const void* pc);
/// "block (0,0,0) thread (5,0,0)"
std::string name_of(const Thread& thread);

/// Completes the asynchronous copies of all groups but the newest ones.
void finish_copies(Thread& thread, unsigned newest_left);
/// In shared_memory.cpp: a new block finds its shared memory uninitialised.
void begin_block();

}  // namespace emulator
