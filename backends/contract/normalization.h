// Kernels of ops/normalization.h. Lines are contiguous along the last axis.
#pragma once
#include "tutti/backends/contract/kernel.h"
#include "tutti/backends/contract/lines.h"

namespace tutti::kernel {

/// Per line: out = (x - mean) * scale * weight + bias with scale = 1 / sqrt(mean of squared deviations + eps); if not
/// `center`, the mean is taken as 0. weight and bias [width] may be null.
/// statistics, two per line (float64 for float64, else float32): the mean relative to the line's first element (which
/// keeps nearly equal large numbers exact), and scale. Where squares overflow or vanish: both of the line times a power
/// of two that follows from its largest |x|, and the scale negative to say so. `known`: they are there already, from an
/// earlier call with the same arguments (which a backend may use).
struct normalize_forward : Kernel<normalize_forward> {
  template <class Target>
  static void run(const Lines<1>& x, const void* weight, const void* bias, void* statistics, double eps, bool center,
                  bool known);
};

/// The gradients, from x and dy. x_dy.out (dx), dweight and dbias may be null: not wanted. The latter two are summed
/// over fixed blocks of lines, in order.
struct normalize_backward : Kernel<normalize_backward> {
  template <class Target>
  static void run(const Lines<2>& x_dy, const void* weight, const void* statistics, void* dweight, void* dbias,
                  bool center);
};

}  // namespace tutti::kernel
