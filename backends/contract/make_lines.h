// Tensors -> Lines: for ops. Kernels include lines.h only.
#pragma once
#include "tutti/backends/contract/lines.h"
#include "tutti/backends/contract/make_view.h"

#pragma GCC visibility push(default)
namespace tutti {

namespace detail {
template <int N>
Lines<N> make_lines(const TensorImpl* const (&x)[N], const TensorImpl* y, int axis) {
  Lines<N> l{};
  const auto address = [](const TensorImpl& t) {
    return static_cast<char*>(t.storage->data) + static_cast<size_t>(t.offset) * size_of(t.dtype);
  };
  const Dims& shape = x[0]->shape;
  const auto along = [&](const TensorImpl& t, int64_t& stride, Dims& outer) {
    stride = shape.n ? t.strides[axis] : 1;
    for (int i = 0; i < shape.n; ++i)
      if (i != axis) outer.push(t.strides[i]);
  };
  l.dtype = x[0]->dtype;
  l.width = shape.n ? shape[axis] : 1;
  for (int i = 0; i < shape.n; ++i)
    if (i != axis) l.outer.push(shape[i]);
  l.count = l.outer.product();
  Dims* strides[N + 1];
  for (int k = 0; k < N; ++k) {
    l.in[k] = address(*x[k]);
    along(*x[k], l.in_stride[k], l.in_outer[k]);
    strides[k] = &l.in_outer[k];
  }
  if (y) {
    l.out = address(*y);
    along(*y, l.out_stride, l.out_outer);
    strides[N] = &l.out_outer;
  }
  coalesce(l.outer, strides, y ? N + 1 : N);
  return l;
}
}  // namespace detail

/// Along a normalised axis; all of one shape. A 0-d tensor is one line of one element.
template <class... X>
Lines<1 + static_cast<int>(sizeof...(X))> lines(const Output& y, int axis, const Tensor& x, const X&... more) {
  return detail::make_lines<1 + static_cast<int>(sizeof...(X))>({x.impl(), more.impl()...}, y.impl(), axis);
}
/// Without an output: for kernels that give something else per line.
template <class... X>
Lines<1 + static_cast<int>(sizeof...(X))> lines(int axis, const Tensor& x, const X&... more) {
  return detail::make_lines<1 + static_cast<int>(sizeof...(X))>({x.impl(), more.impl()...}, nullptr, axis);
}

}  // namespace tutti
#pragma GCC visibility pop
