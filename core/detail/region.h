// One parallel_for: its pieces, which thread takes which, and what they threw. Shared by the engines that bring
// threads.
#pragma once
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>

#include "tutti/core/parallel.h"

namespace tutti::detail {

/// Threads 0 .. team - 1 call work(t), all of them or only some: those that come do everything. What runs is the same
/// for every team, so that results are too.
class Region {
 public:
  static constexpr int max_team = 512;

  void open(int team, int64_t n, int64_t grain, PieceFn fn, void* self);
  /// Takes the pieces of t's own share, so that the same part of a tensor stays in the same core's cache from one
  /// operation to the next, then those that the others have left.
  void work(int t);
  /// After all work: throws what the lowest piece that failed threw, if one did.
  void close();

 private:
  struct alignas(64) Next {
    std::atomic<int64_t> piece;
  };

  int64_t first_piece(int t) const { return pieces_ * t / team_; }
  void run_piece(int64_t i);

  PieceFn fn_ = nullptr;
  void* self_ = nullptr;
  int64_t n_ = 0, grain_ = 0, pieces_ = 0;
  int team_ = 0;
  std::mutex error_mutex_;
  std::exception_ptr error_;
  alignas(64) std::atomic<int64_t> lowest_error_{0};
  Next next_[max_team];
};

}  // namespace tutti::detail
