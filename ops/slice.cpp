// Parts of a tensor as views: slice, select, split, chunk. A slice's gradient is placed into zeros; the pieces of one
// split are the outputs of one node, whose gradient is written once, piece by piece, without zeros first.
#include <algorithm>

#include "tutti/autograd/with_grad.h"
#include "tutti/backends/contract/make_view.h"
#include "tutti/core/error.h"
#include "tutti/ops/copy.h"
#include "tutti/ops/create.h"
#include "tutti/ops/join.h"
#include "tutti/ops/shape.h"

namespace tutti {
namespace {

int check_axis(const char* op, int64_t axis, const Tensor& x) {
  check_defined(op, "x", x);
  if (x.rank() == 0) throw IndexError(message(op, ": a 0-d tensor has no axis ", axis));
  return normalize_dim(op, axis, x);
}

View part(const Tensor& x, int axis, int64_t begin, int64_t size, int64_t step = 1) {
  Dims shape = x.shape(), strides = x.strides();
  const int64_t offset = x.impl()->offset + (size > 0 ? begin * strides[axis] : 0);
  shape[axis] = size;
  if (size > 1) strides[axis] *= step;
  return view(x, shape, strides, offset);
}

/// What slice(·, axis, begin, ..., step) takes from a tensor of size `size`, put back into zeros.
Tensor place(const Tensor& dy, int axis, int64_t begin, int64_t step, int64_t size) {
  Dims shape = dy.shape();
  shape[axis] = size;
  const Tensor dx = zeros(shape, {dy.dtype(), dy.device()});
  const int64_t end = dy.shape()[axis] ? begin + (dy.shape()[axis] - 1) * step + 1 : begin;
  {
    const no_grad off;
    copy_(slice(dx, axis, begin, end, step), dy.detach());
  }
  return with_grad(
      "slice_backward", view(dx, shape, dx.strides(), 0), {dy},
      [axis, begin, end, step](Saved&, const Tensor& d) { return Grads{slice(d, axis, begin, end, step)}; });
}

}  // namespace

Tensor slice(const Tensor& x, int64_t axis, int64_t begin, int64_t end, int64_t step) {
  const int dim = check_axis("slice", axis, x);
  if (step <= 0) throw ValueError(message("slice: step ", step, " must be positive"));
  const int64_t size = x.shape()[dim];
  const auto cut = [size](int64_t p) { return std::clamp<int64_t>(p < 0 ? p + size : p, 0, size); };
  const int64_t first = cut(begin), last = std::max(first, cut(end));
  const int64_t count = last > first ? (last - first - 1) / step + 1 : 0;
  if (count == size) return x;
  return with_grad("slice", part(x, dim, first, count, step), {x}, [dim, first, step, size](Saved&, const Tensor& dy) {
    return Grads{place(dy, dim, first, step, size)};
  });
}

Tensor select(const Tensor& x, int64_t axis, int64_t index) {
  const int dim = check_axis("select", axis, x);
  const int64_t size = x.shape()[dim], at = index < 0 ? index + size : index;
  if (at < 0 || at >= size)
    throw IndexError(message("select: index ", index, " is out of range for axis ", dim, " of shape ", x.shape()));
  Dims shape, strides;
  for (int i = 0; i < x.rank(); ++i) {
    if (i == dim) continue;
    shape.push(x.shape()[i]);
    strides.push(x.strides()[i]);
  }
  return with_grad(
      "select", view(x, shape, strides, x.impl()->offset + at * x.strides()[dim]), {x},
      [dim, at, size](Saved&, const Tensor& dy) { return Grads{place(unsqueeze(dy, dim), dim, at, 1, size)}; });
}

}  // namespace tutti
