// Views that share storage and carry gradients.
#pragma once
#include "tutti/core/tensor.h"

#pragma GCC visibility push(default)
namespace tutti {

namespace detail {
std::vector<Tensor> split(const Tensor& x, int64_t size, int64_t axis);
}

/// The same elements in row-major order under another shape; one size may be -1. A view where strides allow, else a
/// copy.
Tensor reshape(const Tensor& x, const Dims& shape);
/// Axes [first, last] become one.
Tensor flatten(const Tensor& x, int64_t first = 0, int64_t last = -1);
/// The axes in another order: axis i of the result is axis axes[i] of x. ShapeError unless each is named once.
Tensor permute(const Tensor& x, const Dims& axes);
/// Two axes swapped. IndexError if there is no such axis.
Tensor transpose(const Tensor& x, int64_t a, int64_t b);
/// Elements begin, begin + step, ... before end along an axis. Negative positions count from the end; positions beyond
/// are cut as in Python. ValueError unless step > 0.
Tensor slice(const Tensor& x, int64_t axis, int64_t begin, int64_t end, int64_t step = 1);
/// One position along an axis, which disappears. IndexError out of range.
Tensor select(const Tensor& x, int64_t axis, int64_t index);
/// A new axis of size 1 before `axis` (negative: counted from the end of the new shape).
Tensor unsqueeze(const Tensor& x, int64_t axis);
Tensor squeeze(const Tensor& x, int64_t axis);  ///< the axis must have size 1
Tensor squeeze(const Tensor& x);                ///< drops all axes of size 1
/// Broadcasts axes of size 1 (and new leading axes) to `shape` with stride 0; -1 keeps a size.
Tensor expand(const Tensor& x, const Dims& shape);
/// Pieces of the given sizes along an axis, as views. ShapeError if they do not add up.
std::vector<Tensor> split(const Tensor& x, const Dims& sizes, int64_t axis = 0);
/// Pieces of `size` (the last may be smaller).
std::vector<Tensor> split(const Tensor& x, Integer auto size, int64_t axis = 0) {
  return detail::split(x, static_cast<int64_t>(size), axis);
}
/// At most n pieces of ceil(size / n), as in PyTorch.
std::vector<Tensor> chunk(const Tensor& x, int64_t n, int64_t axis = 0);
/// x itself if contiguous, else a contiguous copy.
Tensor contiguous(const Tensor& x);

}  // namespace tutti
#pragma GCC visibility pop
