// x[{..}]: one view and one node, however many axes are named. Its gradient is placed into zeros.
#include <algorithm>

#include "tutti/autograd/with_grad.h"
#include "tutti/backends/contract/copy.h"
#include "tutti/backends/contract/create.h"
#include "tutti/backends/contract/make_view.h"
#include "tutti/core/error.h"
#include "tutti/ops/detail/unchanged.h"

namespace tutti {
namespace {

/// What is taken of each axis.
struct Region {
  Dims begin, count, step;
  unsigned dropped = 0;  // bit i: of axis i one position, and the axis disappears

  /// Shape, strides and offset of the region in a tensor of these strides.
  void place(const Dims& strides, Dims& shape, Dims& region_strides, int64_t& offset) const {
    for (int i = 0; i < strides.n; ++i) {
      if (count[i] > 0) offset += begin[i] * strides[i];
      if (dropped >> i & 1u) continue;
      shape.push(count[i]);
      region_strides.push(count[i] > 1 ? strides[i] * step[i] : strides[i]);
    }
  }
};

Region resolve(const Tensor& x, std::initializer_list<TensorIndex> index) {
  using Kind = TensorIndex::Kind;
  const auto is_ellipsis = [](const TensorIndex& i) { return i.kind() == Kind::rest; };
  const auto ellipses = std::count_if(index.begin(), index.end(), is_ellipsis);
  const int64_t named = static_cast<int64_t>(index.size()) - ellipses;
  if (ellipses > 1) throw IndexError(message("index: ", ellipses, " ellipses; one at most"));
  if (named > x.rank())
    throw IndexError(message("index: ", named, " indices for shape ", x.shape(), " (", x.rank(), " axes)"));
  Region r;
  const auto keep = [&](int64_t axes) {
    for (; axes > 0; --axes) {
      r.begin.push(0);
      r.count.push(x.shape()[r.count.n]);
      r.step.push(1);
    }
  };
  for (const TensorIndex& i : index) {
    if (is_ellipsis(i)) {
      keep(x.rank() - named);
      continue;
    }
    const int axis = r.count.n;
    const int64_t size = x.shape()[axis];
    const Slice s = i.slice();
    if (i.kind() == Kind::position) {
      const int64_t at = s.begin < 0 ? s.begin + size : s.begin;
      if (at < 0 || at >= size)
        throw IndexError(
            message("index: position ", s.begin, " is out of range for axis ", axis, " of shape ", x.shape()));
      r.begin.push(at);
      r.count.push(1);
      r.dropped |= 1u << axis;
    } else {
      if (s.step <= 0) throw ValueError(message("index: step ", s.step, " of axis ", axis, " must be positive"));
      const auto trim = [size](int64_t p) { return std::clamp<int64_t>(p < 0 ? p + size : p, 0, size); };
      const int64_t begin = trim(s.begin), end = trim(s.end);
      r.begin.push(begin);
      r.count.push(end > begin ? (end - begin - 1) / s.step + 1 : 0);
    }
    r.step.push(s.step);
  }
  keep(x.rank() - r.count.n);
  return r;
}

Tensor take(const Tensor& x, const Region& r);

/// What take() leaves of a tensor of this shape, put back into zeros.
Tensor put_back(const Tensor& dy, const Region& r, const Dims& whole) {
  const Output dx = output(whole, dy.dtype(), dy.device());
  kernel::fill::on(dx.device())(row_of(dx), 0);
  Dims shape, strides;
  int64_t offset = 0;
  r.place(dx.strides(), shape, strides, offset);
  kernel::copy::on(dx.device())(elements(dx.view(shape, strides, offset), dy));
  return with_grad("index_backward", dx, {dy}, [r](Saved&, const Tensor& d) { return Grads{take(d, r)}; });
}

Tensor take(const Tensor& x, const Region& r) {
  if (r.count == x.shape() && !r.dropped) return detail::unchanged(x);
  Dims shape, strides;
  int64_t offset = x.impl()->offset;
  r.place(x.strides(), shape, strides, offset);
  return with_grad("index", view(x, shape, strides, offset), {x},
                   [r, whole = x.shape()](Saved&, const Tensor& dy) { return Grads{put_back(dy, r, whole)}; });
}

}  // namespace

Tensor Tensor::operator[](std::initializer_list<TensorIndex> index) const {
  check_defined("index", "x", *this);
  return take(*this, resolve(*this, index));
}

}  // namespace tutti
