// Fold: the view that reductions over several axes see. The axes of a tensor fall into those that are kept (one result
// each) and those that are folded into one value; both groups are coalesced and sorted so that the innermost axis has
// the smallest stride, whatever the tensor's layout.
#pragma once
#include "tutti/core/dims.h"
#include "tutti/core/dtype.h"

#pragma GCC visibility push(default)
namespace tutti {

struct Fold {
  const void* data;
  void* out;
  DType dtype, out_dtype;
  Dims kept, kept_strides, out_strides;  // where result i is read from and written to (strides in elements)
  Dims folded, folded_strides;
  int64_t results, count;  // kept.product(), folded.product()
};

}  // namespace tutti
#pragma GCC visibility pop
