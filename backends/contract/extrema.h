// Kernels of ops/extrema.h. Lines are not empty; a NaN beats everything; the first of equals wins.
#pragma once
#include "tutti/backends/contract/kernel.h"
#include "tutti/backends/contract/lines.h"

namespace tutti::kernel {

/// Per line the largest element (the smallest, unless `largest`) and its position. Both outputs are contiguous, one
/// entry per line; values may be null.
struct extremum : Kernel<extremum> {
  template <class Target>
  static void run(const Lines<1>& x, void* values, int64_t* indices, bool largest);
};

/// Per line the k largest (smallest), sorted. The outputs are contiguous tensors with size k along the axis, of whose
/// elements neighbours along it lie `inner` apart.
struct topk : Kernel<topk> {
  template <class Target>
  static void run(const Lines<1>& x, void* values, int64_t* indices, int64_t k, int64_t inner, bool largest);
};

/// The gradient of both: zeros, with the k values of each line at their positions, which differ. All contiguous; `out`
/// has size `width` along the axis, the others k; neighbours along it lie `inner` apart.
struct place : Kernel<place> {
  template <class Target>
  static void run(DType dtype, const void* values, const int64_t* indices, void* out, int64_t lines, int64_t k,
                  int64_t width, int64_t inner);
};

}  // namespace tutti::kernel
