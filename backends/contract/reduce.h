// Kernels of ops/reduce.h. All accumulate over fixed pieces in fixed order.
#pragma once
#include "tutti/backends/contract/fold.h"
#include "tutti/backends/contract/kernel.h"

namespace tutti::kernel {

/// sum / divisor; NaN if the divisor is 0. Integers and bool are added in int64 and give int64 (the divisor is 1) or
/// float32. Finite whenever the exact result is.
struct sum : Kernel<sum> {
  template <class Target>
  static void run(const Fold& x, double divisor);
};

/// sum (x - mean)^2 / divisor, or its square root. The mean is taken relative to each result's first element, so that
/// equal values give exactly 0. Squares do not overflow or vanish.
struct variance : Kernel<variance> {
  template <class Target>
  static void run(const Fold& x, double divisor, bool root);
};

/// (sum |x|^p)^(1/p), each x divided by the result's largest |x| first; p infinite: the largest |x|.
struct norm : Kernel<norm> {
  template <class Target>
  static void run(const Fold& x, double p);
};

}  // namespace tutti::kernel
