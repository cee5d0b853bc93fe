// Largest and smallest elements, and where they are. A NaN beats everything, so that none is lost; the first of equals
// wins.
#pragma once
#include "tutti/core/tensor.h"

#pragma GCC visibility push(default)
namespace tutti {

/// What max, min, topk and sort find, and where.
struct ValuesIndices {
  Tensor values;   ///< differentiable
  Tensor indices;  ///< int64
};

/// The largest (smallest) of all elements, or along an axis. The gradient goes to the one that `indices` names.
/// ValueError on an axis of size 0 (there is no largest of nothing).
Tensor max(const Tensor& x);
Tensor min(const Tensor& x);
ValuesIndices max(const Tensor& x, int64_t axis, bool keepdim = false);
ValuesIndices min(const Tensor& x, int64_t axis, bool keepdim = false);
Tensor argmax(const Tensor& x);  ///< index into the flattened tensor
Tensor argmin(const Tensor& x);
Tensor argmax(const Tensor& x, int64_t axis, bool keepdim = false);
Tensor argmin(const Tensor& x, int64_t axis, bool keepdim = false);
/// The k largest (or smallest) along an axis, sorted; equal ones in order of position. IndexError unless 0 <= k <=
/// size.
ValuesIndices topk(const Tensor& x, int64_t k, int64_t axis = -1, bool largest = true);
/// All elements along an axis in ascending (descending) order, and where they were; equal ones in order of position. A
/// NaN counts as the largest, as in PyTorch.
ValuesIndices sort(const Tensor& x, int64_t axis = -1, bool descending = false);
/// The indices of sort(x, axis, descending).
Tensor argsort(const Tensor& x, int64_t axis = -1, bool descending = false);

}  // namespace tutti
#pragma GCC visibility pop
