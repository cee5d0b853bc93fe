// Kernels that copy and convert.
#pragma once
#include "tutti/backends/contract/kernel.h"
#include "tutti/backends/contract/view.h"

namespace tutti::kernel {

/// out = a, converted to the dtype of out: floats to integers truncate, to bool: a != 0.
struct copy : Kernel<copy> {
  template <class Target>
  static void run(const Elements<1>& e);
};

}  // namespace tutti::kernel
