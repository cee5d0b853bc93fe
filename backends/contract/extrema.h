// Kernels of ops/extrema.h.
#pragma once
#include "tutti/backends/contract/kernel.h"
#include "tutti/backends/contract/view.h"

#pragma GCC visibility push(default)
namespace tutti::kernel {

/// Per row the largest element (smallest if not `largest`) and the position of its first occurrence; a NaN beats
/// everything. values has width 1; indices (int64, contiguous, one per row) in row order. Rows are not empty.
struct extremum : Kernel<extremum, Gap::cuda> {
  template <class Target>
  static void run(const ConstRows& x, const Rows& values, int64_t* indices, bool largest);
};

/// Per row the k largest (or smallest), sorted, equal ones in order of position. values and indices (int64) have width k.
struct topk : Kernel<topk, Gap::cuda> {
  template <class Target>
  static void run(const ConstRows& x, const Rows& values, const Rows& indices, bool largest);
};

}  // namespace tutti::kernel
#pragma GCC visibility pop
