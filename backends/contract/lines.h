// Lines: N operands of one shape (and perhaps an output of that shape), seen as lines along one axis. The other axes
// are coalesced for all of them together, so that a line has one number for all, and neighbouring lines can be
// processed side by side whatever the layouts.
#pragma once
#include "tutti/core/dims.h"
#include "tutti/core/dtype.h"

#pragma GCC visibility push(default)
namespace tutti {

template <int N>
struct Lines {
  const void* in[N];
  void* out;  // null where there is none
  DType dtype;
  int64_t width, in_stride[N], out_stride;  // along a line, in elements
  int64_t count;                            // of lines = outer.product(), in row-major order
  Dims outer, in_outer[N], out_outer;
};

}  // namespace tutti
#pragma GCC visibility pop
