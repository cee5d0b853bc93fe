// Kernels of ops/reduce.h.
#pragma once
#include "tutti/backends/contract/fold.h"
#include "tutti/backends/contract/kernel.h"

#pragma GCC visibility push(default)
namespace tutti::kernel {

/// out = scale * sum of x. Integers and bool are added in int64, floats over fixed pieces in fixed order.
/// out_dtype: x's own for floats; int64 (scale ignored) or float32 for integers.
struct sum : Kernel<sum, Gap::cuda> {
  template <class Target>
  static void run(const Fold& x, double scale);
};

}  // namespace tutti::kernel
#pragma GCC visibility pop
