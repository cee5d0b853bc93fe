// What kernels read and write backwards: negative strides, which no tensor outside of ops/ has.
#pragma once
#include "tutti/autograd/with_grad.h"

namespace tutti::detail {

/// The strides of t (a TensorImpl) from its last element to its first along each of the axes (a bit mask), and where
/// that is.
struct Reversed {
  Dims strides;
  int64_t offset;
  Reversed(const TensorImpl& t, unsigned axes) : strides(t.strides), offset(t.offset) {
    for (int i = 0; i < strides.n; ++i) {
      if (!(axes >> i & 1u) || t.shape[i] == 0) continue;
      offset += (t.shape[i] - 1) * strides[i];
      strides[i] = -strides[i];
    }
  }
};

/// A look at x like that, without a gradient.
inline Tensor reversed(const Tensor& x, unsigned axes) {
  const Reversed r(*x.impl(), axes);
  return no_gradient(view(x, x.shape(), r.strides, r.offset));
}
inline Output reversed(const Output& y, unsigned axes) {
  const Reversed r(*y.impl(), axes);
  return y.view(y.shape(), r.strides, r.offset);
}

}  // namespace tutti::detail
