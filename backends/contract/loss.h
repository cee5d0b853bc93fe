// Kernels of ops/loss.h.
#pragma once
#include "tutti/backends/contract/kernel.h"
#include "tutti/backends/contract/lines.h"
#include "tutti/backends/contract/view.h"

namespace tutti::kernel {

/// What both cross-entropy kernels are told. All pointers are to contiguous memory.
struct CrossEntropy {
  const void* target;  // one per line
  DType target_dtype;  // int64 or int32
  const void* weight;  // [classes] of the logits' dtype, or null
  int64_t ignore_index;
  double smoothing;
  bool reduce, mean;
};

/// Logits' lines are contiguous. With w the class weights (1 without), t the target, W = sum of w and e the smoothing:
///   loss = (1 - e) w[t] (lse - x[t]) + e / classes (W lse - sum_k w[k] x[k]),   0 where ignored.
/// out: one loss per line, or, if `reduce`, their sum, divided by *divisor if `mean` (nothing counts: 0).
/// Kept for the gradient: lse [2, lines] (float64 for float64, else float32), whose sum is log(sum exp(x)): in one
/// number where that is small, else the line's maximum and the rest, which would be lost beside it; and *divisor = sum
/// of w[t] over the lines that count.
struct cross_entropy_forward : Kernel<cross_entropy_forward> {
  template <class Target>
  static void run(const Lines<1>& logits, const CrossEntropy& options, void* out, void* lse, double* divisor);
};

/// dx = f ((1 - e) w[t] (p - [k = t]) + e / classes (W p - w[k])) with p = exp(x - lse[0] - lse[1]), 0
/// where ignored. f is dy: one
/// per line, or, if `reduce`, one for all, divided by *divisor if `mean`.
struct cross_entropy_backward : Kernel<cross_entropy_backward> {
  template <class Target>
  static void run(const Lines<1>& logits, const CrossEntropy& options, const void* lse, const double* divisor,
                  const void* dy);
};

/// max(x, 0) - x target + log(1 + exp(-|x|)).
struct bce_with_logits : Kernel<bce_with_logits> {
  template <class Target>
  static void run(const Elements<2>& x_target);
};

}  // namespace tutti::kernel
