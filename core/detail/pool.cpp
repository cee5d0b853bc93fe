// Its workers help if they are awake in time: the caller never waits for one that has not begun, so that a late or
// missing worker (a busy machine, a forked child) costs speed and nothing else.
#include "tutti/core/detail/pool.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "tutti/core/detail/region.h"
#include "tutti/core/detail/signals.h"

namespace tutti::detail {
namespace {

// How long an idle worker looks for the next region before it sleeps. Longer than the gaps between the operations of a
// training step, short beside what a sleeping worker costs to wake (50 µs and more on a virtual machine).
constexpr std::chrono::microseconds spin_time{100};

inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Spins until done() for at most spin_time; whether it is.
template <class Done>
bool spin(Done done) {
  const auto end = std::chrono::steady_clock::now() + spin_time;
  do {
    for (int i = 0; i < 32; ++i) {
      if (done()) return true;
      relax();
    }
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

class Pool {
 public:
  /// Whether it ran: false if another thread is using the pool.
  bool run(int team, int64_t n, int64_t grain, PieceFn fn, void* self) {
    if (busy_.exchange(true, std::memory_order_acquire)) return false;
    team = recruit(team);
    region_.open(team, n, grain, fn, self);
    caller_cpu_.store(sched_getcpu(), std::memory_order_relaxed);
    // Opens the region to workers 0 .. team - 2, and wakes those that sleep.
    state_.store(static_cast<uint32_t>(team - 1) << 16, std::memory_order_release);
    calls_.fetch_add(1, std::memory_order_release);
    calls_.notify_all();
    region_.work(0);
    // Closes it, and waits for the workers that came.
    if (state_.fetch_and(0xffff, std::memory_order_acq_rel) & 0xffff) {
      const auto left = [&] { return state_.load(std::memory_order_acquire) == 0; };
      if (!spin(left))
        for (uint32_t s; (s = state_.load(std::memory_order_acquire)) != 0;) state_.wait(s, std::memory_order_acquire);
    }
    const Free freed(busy_);
    region_.close();
    return true;
  }

  /// In the child of a fork, which has none of the workers.
  void forget_workers() {
    workers_ = 0;
    state_ = 0;
    busy_ = false;
  }

 private:
  /// Lets the next caller in, also when the region throws.
  struct Free {
    explicit Free(std::atomic<bool>& b) : busy(b) {}
    ~Free() { busy.store(false, std::memory_order_release); }
    std::atomic<bool>& busy;
  };

  /// Starts workers up to team - 1; the team that there is. They take no signals: a program's handlers run on its own
  /// threads, and a worker may be inside oneDNN (backends/cpu/gemm.cpp).
  int recruit(int team) {
    if (workers_ >= team - 1) return team;
    const SignalsHeld inherited;
    try {
      for (; workers_ < team - 1; ++workers_) std::thread(&Pool::serve, this, workers_).detach();
    } catch (const std::exception&) {  // the process may have no more threads, or no memory for one
    }
    return std::min(team, workers_ + 1);
  }

  void serve(int index) {
    const SerialScope nested;
    uint32_t seen = 0;
    for (;;) {
      uint32_t s = state_.load(std::memory_order_acquire);
      bool joined = false;
      while (static_cast<int>(s >> 16) > index && !joined)
        joined = state_.compare_exchange_weak(s, s + 1, std::memory_order_acquire);
      if (joined) {
        region_.work(index + 1);
        if (state_.fetch_sub(1, std::memory_order_acq_rel) == 1) state_.notify_all();
      }
      step_aside();
      if (!spin([&] { return calls_.load(std::memory_order_acquire) != seen; }))
        calls_.wait(seen, std::memory_order_acquire);
      seen = calls_.load(std::memory_order_acquire);
    }
  }

  /// Leaves the caller's CPU, where the scheduler may have woken this worker: it would stay there, helping nobody.
  /// (Some virtual machines hide that their CPUs share a cache, and then Linux looks for no idle one.)
  void step_aside() {
    const int here = sched_getcpu();
    if (here < 0 || here >= CPU_SETSIZE || here != caller_cpu_.load(std::memory_order_relaxed)) return;
    cpu_set_t all;
    if (sched_getaffinity(0, sizeof all, &all) != 0 || CPU_COUNT(&all) < 2) return;
    cpu_set_t others = all;
    CPU_CLR(here, &others);
    sched_setaffinity(0, sizeof others, &others);
    sched_setaffinity(0, sizeof all, &all);
  }

  std::atomic<bool> busy_{false};  // guards everything below between regions
  int workers_ = 0;
  Region region_;
  alignas(64) std::atomic<uint32_t> calls_{0};  // what sleeping workers watch
  alignas(64) std::atomic<uint32_t> state_{0};  // how many workers may join << 16 | how many are in
  std::atomic<int> caller_cpu_{-1};
};

/// Never destroyed, and its workers never joined: a program may end, or its static tensors die, in any order.
Pool& pool() {
  static Pool& p = *[] {
    pthread_atfork(nullptr, nullptr, [] { pool().forget_workers(); });
    return new Pool;
  }();
  return p;
}

}  // namespace

bool run_in_pool(int team, int64_t n, int64_t grain, PieceFn fn, void* self) {
  return pool().run(team, n, grain, fn, self);
}

}  // namespace tutti::detail
