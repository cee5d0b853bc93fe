// Kernels of comparison and selection.
#pragma once
#include "tutti/backends/contract/kernel.h"
#include "tutti/backends/contract/view.h"

namespace tutti::kernel {

/// out = condition ? a : b from (condition, a, b): bool, and two of the dtype of out.
struct where : Kernel<where, Gap::cuda> {
  template <class Target>
  static void run(const Elements<3>& e);
};

/// out = (mask == where_true) ? value : x from (x, mask): one of the dtype of out, and bool.
struct masked_fill : Kernel<masked_fill, Gap::cuda> {
  template <class Target>
  static void run(const Elements<2>& e, double value, bool where_true);
};

}  // namespace tutti::kernel
