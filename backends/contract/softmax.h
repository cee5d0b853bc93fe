// Kernels of ops/softmax.h, and log-sum-exp.
#pragma once
#include "tutti/backends/contract/kernel.h"
#include "tutti/backends/contract/lines.h"

namespace tutti::kernel {

/// exp(x - max) / sum exp(x - max) per line; if `log`, x - max - log(sum exp(x - max)).
struct softmax_forward : Kernel<softmax_forward> {
  template <class Target>
  static void run(const Lines<1>& x, bool log);
};

/// From y and dy: y (dy - sum(y dy)); if `log`, dy - exp(y) sum(dy).
struct softmax_backward : Kernel<softmax_backward> {
  template <class Target>
  static void run(const Lines<2>& y_dy, bool log);
};

/// out[line] = log(sum exp(x)); out is contiguous, of x's dtype.
struct log_sum_exp : Kernel<log_sum_exp> {
  template <class Target>
  static void run(const Lines<1>& x, void* out);
};

}  // namespace tutti::kernel
