// Parts of a tensor as views: slice, select, split, chunk. A slice's gradient is placed into zeros; the pieces of one
// split are the outputs of one node, whose gradient is written once, piece by piece, without zeros first.
#include <algorithm>

#include "tutti/autograd/with_grad.h"
#include "tutti/backends/contract/copy.h"
#include "tutti/backends/contract/create.h"
#include "tutti/backends/contract/make_view.h"
#include "tutti/core/error.h"
#include "tutti/ops/create.h"
#include "tutti/ops/detail/unchanged.h"
#include "tutti/ops/join.h"
#include "tutti/ops/shape.h"

namespace tutti {
namespace {

View part(const Tensor& x, int axis, int64_t begin, int64_t size, int64_t step = 1) {
  Dims shape = x.shape(), strides = x.strides();
  const int64_t offset = x.impl()->offset + (size > 0 ? begin * strides[axis] : 0);
  shape[axis] = size;
  if (size > 1) strides[axis] *= step;
  return view(x, shape, strides, offset);
}

/// What slice(·, axis, begin, ..., step) takes from a tensor of size `size`, put back into zeros.
Tensor place(const Tensor& dy, int axis, int64_t begin, int64_t step, int64_t size) {
  const int64_t count = dy.shape()[axis];
  if (step == 1 || count <= 1) {
    Dims before = dy.shape(), after = dy.shape();
    for (int i = 0; i < before.n; ++i) before[i] = after[i] = 0;
    before[axis] = begin;
    after[axis] = size - begin - count;
    return pad(dy, before, after);
  }
  Dims shape = dy.shape();
  shape[axis] = size;
  const int64_t end = begin + (count - 1) * step + 1;
  const Output dx = output(shape, dy.dtype(), dy.device());
  Dims strides = dx.strides();
  strides[axis] *= step;
  kernel::fill::on(dx.device())(rows(dx, axis), 0);
  kernel::copy::on(dx.device())(elements(dx.view(dy.shape(), strides, begin * dx.strides()[axis]), dy));
  return with_grad("slice_backward", dx, {dy},
                   [=](Saved&, const Tensor& d) { return Grads{slice(d, axis, begin, end, step)}; });
}

}  // namespace

Tensor slice(const Tensor& x, int64_t axis, int64_t begin, int64_t end, int64_t step) {
  const int dim = check_axis("slice", axis, x);
  if (step <= 0) throw ValueError(message("slice: step ", step, " must be positive"));
  const int64_t size = x.shape()[dim];
  const auto trim = [size](int64_t p) { return std::clamp<int64_t>(p < 0 ? p + size : p, 0, size); };
  const int64_t first = trim(begin), last = std::max(first, trim(end));
  const int64_t count = last > first ? (last - first - 1) / step + 1 : 0;
  if (count == size) return detail::unchanged(x);
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

namespace {

/// Piece i of a split, by explicit sizes or in equal pieces of which the last may be smaller.
struct Cuts {
  Dims sizes;        // empty: equal pieces
  int64_t size = 0;  // of those
  int64_t total = 0;
  int64_t count() const { return sizes.n ? sizes.n : std::max<int64_t>(1, (total + size - 1) / size); }
  int64_t piece(int64_t i, int64_t begin) const {
    return sizes.n ? sizes[static_cast<int>(i)] : std::min(size, total - begin);
  }
};

std::vector<Tensor> cut(const char* op, const Tensor& x, int axis, const Cuts& cuts) {
  std::vector<View> pieces;
  pieces.reserve(static_cast<size_t>(cuts.count()));
  int64_t begin = 0;
  for (int64_t i = 0; i < cuts.count(); ++i) {
    const int64_t size = cuts.piece(i, begin);
    pieces.push_back(part(x, axis, begin, size));
    begin += size;
  }
  return with_grad(op, pieces, {x}, [axis, cuts](Saved& s, const Grads& dy) {
    const auto some = std::find_if(dy.begin(), dy.end(), [](const Tensor& t) { return t.defined(); });
    Grads list = dy;
    Dims shape = s.input_shape(0);
    int64_t at = 0;
    for (int64_t i = 0; i < cuts.count(); ++i) {
      shape[axis] = cuts.piece(i, at);
      at += shape[axis];
      Tensor& piece = list[static_cast<size_t>(i)];
      if (!piece.defined()) piece = expand(zeros({}, {some->dtype(), some->device()}), shape);
    }
    return Grads{cat(list, axis)};
  });
}

}  // namespace

std::vector<Tensor> split(const Tensor& x, const Dims& sizes, int64_t axis) {
  const int dim = check_axis("split", axis, x);
  int64_t sum = 0;
  for (int64_t size : sizes) {
    if (size < 0) throw ShapeError(message("split: sizes ", sizes, ": one is negative"));
    if (__builtin_add_overflow(sum, size, &sum)) sum = -1;
  }
  if (sizes.empty() || sum != x.shape()[dim])
    throw ShapeError(message("split: sizes ", sizes, " do not add up to ", x.shape()[dim], ", the size of axis ", dim,
                             " of shape ", x.shape()));
  return cut("split", x, dim, {sizes, 0, x.shape()[dim]});
}

std::vector<Tensor> detail::split(const Tensor& x, int64_t size, int64_t axis) {
  const int dim = check_axis("split", axis, x);
  if (size <= 0) throw ValueError(message("split: the pieces' size must be positive, not ", size));
  return cut("split", x, dim, {{}, std::min(size, std::max<int64_t>(1, x.shape()[dim])), x.shape()[dim]});
}

std::vector<Tensor> chunk(const Tensor& x, int64_t n, int64_t axis) {
  const int dim = check_axis("chunk", axis, x);
  if (n <= 0) throw ValueError(message("chunk: the number of pieces must be positive, not ", n));
  const int64_t total = x.shape()[dim];
  return cut("chunk", x, dim, {{}, std::max<int64_t>(1, total / n + (total % n != 0)), total});
}

}  // namespace tutti
