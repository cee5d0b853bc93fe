// Kernels of ops/cumulative.h: of floating dtypes, computed in float64 over fixed pieces in fixed order, and int64,
// which wraps around.
#pragma once
#include "tutti/backends/contract/kernel.h"
#include "tutti/backends/contract/lines.h"

namespace tutti::kernel {

/// out[i] = in[0] + ... + in[i] per line. Strides may be negative.
struct cumsum : Kernel<cumsum> {
  template <class Target>
  static void run(const Lines<1>& x);
};

/// The product of each line; 1 if it is empty. The output is contiguous, one entry per line.
struct prod : Kernel<prod> {
  template <class Target>
  static void run(const Lines<1>& x, void* out);
};

}  // namespace tutti::kernel
