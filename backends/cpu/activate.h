// What feed_forward.cpp calls on one thread between two products, compiled per instruction set.
#pragma once
#include "tutti/backends/contract/kernel.h"
#include "tutti/backends/contract/unary.h"

namespace tutti::kernel {

/// A piece of a matrix in the middle of a feed-forward: its lines are `stride` elements apart.
struct Middle {
  Unary f;  ///< gelu, gelu_tanh or silu
  DType dtype;
  int64_t rows, cols, stride;
};

/// given += bias (null: none), in place, and result = f(given); `result_stride` is that of the latter's lines.
struct activate : Kernel<activate, Gap::cuda> {
  template <class Target>
  static void run(const Middle& m, void* given, const void* bias, void* result, int64_t result_stride);
};

/// gradient *= f'(given), in place, and result = f(given), unless null; lines of all three are m.stride apart. sums, of
/// cols float64 (null: not wanted): the gradient summed over the rows, in order.
struct activate_backward : Kernel<activate_backward, Gap::cuda> {
  static constexpr int64_t max_cols = 512;  // their sums lie on the stack
  template <class Target>
  static void run(const Middle& m, const void* given, void* gradient, void* result, double* sums);
};

}  // namespace tutti::kernel
