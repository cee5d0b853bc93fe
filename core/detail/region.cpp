#include "tutti/core/detail/region.h"

#include <algorithm>
#include <utility>

namespace tutti::detail {

void Region::open(int team, int64_t n, int64_t grain, PieceFn fn, void* self) {
  fn_ = fn;
  self_ = self;
  n_ = n;
  grain_ = grain;
  pieces_ = (n + grain - 1) / grain;
  team_ = team;
  for (int t = 0; t < team; ++t) next_[t].piece.store(first_piece(t), std::memory_order_relaxed);
  error_ = nullptr;
  lowest_error_.store(pieces_, std::memory_order_relaxed);
}

void Region::work(int t) {
  for (int k = 0; k < team_; ++k) {
    const int share = (t + k) % team_;
    const int64_t end = first_piece(share + 1);
    std::atomic<int64_t>& next = next_[share].piece;
    for (int64_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < end;) run_piece(i);
  }
}

void Region::run_piece(int64_t i) {
  if (i > lowest_error_.load(std::memory_order_relaxed)) return;
  try {
    fn_(self_, i * grain_, std::min(n_, (i + 1) * grain_));
  } catch (...) {
    const std::lock_guard lock(error_mutex_);
    if (i < lowest_error_.load(std::memory_order_relaxed)) {
      lowest_error_.store(i, std::memory_order_relaxed);
      error_ = std::current_exception();
    }
  }
}

void Region::close() {
  if (const std::exception_ptr error = std::exchange(error_, nullptr)) std::rethrow_exception(error);
}

}  // namespace tutti::detail
