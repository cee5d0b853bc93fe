// Largest and smallest elements, and where they are. NaN counts as largest; the first of equals wins.
#pragma once
#include "tutti/core/tensor.h"

#pragma GCC visibility push(default)
namespace tutti {

struct ValuesIndices {
  Tensor values;   ///< differentiable
  Tensor indices;  ///< int64
};

/// ValueError on an axis of size 0 (there is no largest of nothing).
Tensor max(const Tensor& x);
Tensor min(const Tensor& x);
ValuesIndices max(const Tensor& x, int64_t axis, bool keepdim = false);
/// NaN counts as smallest here, so that a NaN is never lost.
ValuesIndices min(const Tensor& x, int64_t axis, bool keepdim = false);
Tensor argmax(const Tensor& x);  ///< index into the flattened tensor
Tensor argmin(const Tensor& x);
Tensor argmax(const Tensor& x, int64_t axis, bool keepdim = false);
Tensor argmin(const Tensor& x, int64_t axis, bool keepdim = false);
/// The k largest (or smallest) along an axis, sorted; equal ones in order of position. IndexError unless 0 <= k <=
/// size.
ValuesIndices topk(const Tensor& x, int64_t k, int64_t axis = -1, bool largest = true);

}  // namespace tutti
#pragma GCC visibility pop
