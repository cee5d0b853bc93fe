// What the kernels are: signatures on plain views. The linker finds the versions: one per instruction set, and CUDA's.
#pragma once
#include <tutti/backends/contract/kernel.h>
#include <tutti/backends/contract/view.h>

namespace mine {

/// y = max(x, 0)^2; floating dtypes, any strides.
struct relu_squared_forward : tutti::Kernel<relu_squared_forward> {
  template <class Target>
  static void run(const tutti::Elements<1>& e);
};

/// dx = 2 max(x, 0) dy, from (x, dy).
struct relu_squared_backward : tutti::Kernel<relu_squared_backward> {
  template <class Target>
  static void run(const tutti::Elements<2>& e);
};

}  // namespace mine
