// Kernels that make values out of nothing: constants and sequences.
#pragma once
#include "tutti/backends/contract/kernel.h"
#include "tutti/backends/contract/view.h"
#include "tutti/core/number.h"

namespace tutti::kernel {

/// y = value everywhere, converted to y's dtype (bool: value != 0).
struct fill : Kernel<fill> {
  template <class Target>
  static void run(Rows y, Number value);
};

/// y[i] = first + i * step along one contiguous row: exact in integers, else computed in float64 and rounded once.
struct arange : Kernel<arange> {
  template <class Target>
  static void run(Rows y, Number first, Number step);
};

/// y[i] = first + i * (last - first) / (n - 1); the second half counts back from `last`, so that both ends are exact.
struct linspace : Kernel<linspace> {
  template <class Target>
  static void run(Rows y, double first, double last);
};

}  // namespace tutti::kernel
