// Kernels of ops/reduce.h. All accumulate over fixed pieces in fixed order.
#pragma once
#include "tutti/backends/contract/fold.h"
#include "tutti/backends/contract/kernel.h"

namespace tutti::kernel {

/// scale * sum. Integers and bool are added in int64 and give int64 (scale is 1) or float32.
struct sum : Kernel<sum, Gap::cuda> {
  template <class Target>
  static void run(const Fold& x, double scale);
};

/// sum (x - mean)^2 / divisor, or its square root. The mean is taken relative to each result's first element, so that
/// equal values give exactly 0.
struct variance : Kernel<variance, Gap::cuda> {
  template <class Target>
  static void run(const Fold& x, double divisor, bool root);
};

/// (sum |x|^p)^(1/p), each x divided by the result's largest |x| first; p infinite: the largest |x|.
struct norm : Kernel<norm, Gap::cuda> {
  template <class Target>
  static void run(const Fold& x, double p);
};

}  // namespace tutti::kernel
