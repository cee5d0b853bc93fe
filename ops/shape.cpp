// Views: shape and strides change, the storage is shared. Their gradients are views too, apart from slice and split.
#include "tutti/ops/shape.h"

#include <algorithm>

#include "tutti/autograd/with_grad.h"
#include "tutti/backends/contract/make_view.h"
#include "tutti/core/error.h"
#include "tutti/ops/copy.h"
#include "tutti/ops/detail/unchanged.h"

namespace tutti {
namespace {

/// Fills in the size that is -1 and checks the number of elements.
Dims resolve(const Tensor& x, const Dims& shape) {
  const auto fail = [&](const char* why) {
    throw ShapeError(message("reshape: shape ", x.shape(), " to ", shape, ": ", why));
  };
  Dims result = shape;
  int unknown = -1;
  int64_t known = 1;
  for (int i = 0; i < shape.n; ++i) {
    if (shape[i] == -1) {
      if (unknown >= 0) fail("only one size may be -1");
      unknown = i;
    } else if (shape[i] < 0) {
      fail("a size is negative");
    } else if (__builtin_mul_overflow(known, shape[i], &known)) {
      fail("the numbers of elements differ");
    }
  }
  if (unknown >= 0) {
    if (known == 0) fail("-1 is ambiguous beside a size of 0");
    if (x.numel() % known) fail("the number of elements is not divisible");
    result[unknown] = x.numel() / known;
  } else if (known != x.numel()) {
    fail("the numbers of elements differ");
  }
  return result;
}

/// The strides that show x's elements in row-major order under `shape`, if there are any: each run of x's axes that
/// can be stepped through evenly must hold a whole number of the new axes. (NumPy decides the same way.)
bool view_strides(const Tensor& x, const Dims& shape, Dims& strides) {
  strides = contiguous_strides(shape);
  if (x.numel() == 0 || x.is_contiguous()) return true;
  int to = shape.n - 1;
  int64_t run = 1;  // elements in the current run, which ends at axis i
  int64_t step = x.strides()[x.rank() - 1];
  for (int i = x.rank() - 1; i >= 0; --i) {
    run *= x.shape()[i];
    const bool run_ends = i == 0 || (x.shape()[i - 1] != 1 && x.strides()[i - 1] != run * step);
    if (!run_ends) continue;
    int64_t placed = 1;
    while (to >= 0 && (placed < run || shape[to] == 1)) {
      strides[to] = placed * step;
      placed *= shape[to];
      --to;
    }
    if (placed != run) return false;
    if (i > 0) {
      step = x.strides()[i - 1];
      run = 1;
    }
  }
  return to < 0;
}

}  // namespace

Tensor reshape(const Tensor& x, const Dims& shape) {
  check_defined("reshape", "x", x);
  const Dims to = resolve(x, shape);
  if (to == x.shape()) return detail::unchanged(x);
  Dims strides;
  if (!view_strides(x, to, strides)) return reshape(clone(x), to);
  return with_grad("reshape", view(x, to, strides, x.impl()->offset), {x},
                   [from = x.shape()](Saved&, const Tensor& dy) { return Grads{reshape(dy, from)}; });
}

Tensor flatten(const Tensor& x, int64_t first, int64_t last) {
  check_defined("flatten", "x", x);
  const int a = normalize_dim("flatten", first, x), b = normalize_dim("flatten", last, x);
  if (a > b) throw ValueError(message("flatten: first axis ", first, " lies behind the last, ", last));
  if (x.rank() == 0) return reshape(x, {1});
  Dims shape;
  for (int i = 0; i < x.rank(); ++i) {
    if (i <= a || i > b)
      shape.push(x.shape()[i]);
    else
      shape[a] *= x.shape()[i];
  }
  return reshape(x, shape);
}

Tensor permute(const Tensor& x, const Dims& axes) {
  check_defined("permute", "x", x);
  const auto fail = [&] {
    throw ShapeError(message("permute: axes ", axes, " are not an order of the ", x.rank(), " axes of ", x.shape()));
  };
  if (axes.n != x.rank()) fail();
  Dims shape = axes, strides = axes, inverse = axes;
  unsigned seen = 0;
  for (int i = 0; i < axes.n; ++i) {
    const int from = normalize_dim("permute", axes[i], x);
    if (seen & (1u << from)) fail();
    seen |= 1u << from;
    shape[i] = x.shape()[from];
    strides[i] = x.strides()[from];
    inverse[from] = i;
  }
  return with_grad("permute", view(x, shape, strides, x.impl()->offset), {x},
                   [inverse](Saved&, const Tensor& dy) { return Grads{permute(dy, inverse)}; });
}

Tensor transpose(const Tensor& x, int64_t a, int64_t b) {
  check_defined("transpose", "x", x);
  const int i = normalize_dim("transpose", a, x), k = normalize_dim("transpose", b, x);
  Dims shape = x.shape(), strides = x.strides();
  std::swap(shape[i], shape[k]);
  std::swap(strides[i], strides[k]);
  return with_grad("transpose", view(x, shape, strides, x.impl()->offset), {x},
                   [i, k](Saved&, const Tensor& dy) { return Grads{transpose(dy, i, k)}; });
}

Tensor unsqueeze(const Tensor& x, int64_t axis) {
  check_defined("unsqueeze", "x", x);
  const int64_t at = axis < 0 ? axis + x.rank() + 1 : axis;
  if (at < 0 || at > x.rank())
    throw IndexError(
        message("unsqueeze: axis ", axis, " is out of range for shape ", x.shape(), " (", x.rank(), " axes)"));
  Dims shape, strides;
  for (int i = 0; i <= x.rank(); ++i) {
    if (i == at) {
      shape.push(1);
      strides.push(i < x.rank() ? x.shape()[i] * x.strides()[i] : 1);
    }
    if (i < x.rank()) {
      shape.push(x.shape()[i]);
      strides.push(x.strides()[i]);
    }
  }
  return with_grad("unsqueeze", view(x, shape, strides, x.impl()->offset), {x},
                   [at](Saved&, const Tensor& dy) { return Grads{squeeze(dy, at)}; });
}

Tensor squeeze(const Tensor& x, int64_t axis) {
  check_defined("squeeze", "x", x);
  const int at = normalize_dim("squeeze", axis, x);
  if (x.rank() == 0) return detail::unchanged(x);
  if (x.shape()[at] != 1)
    throw ShapeError(message("squeeze: axis ", axis, " of shape ", x.shape(), " has size ", x.shape()[at], ", not 1"));
  Dims shape, strides;
  for (int i = 0; i < x.rank(); ++i) {
    if (i == at) continue;
    shape.push(x.shape()[i]);
    strides.push(x.strides()[i]);
  }
  return with_grad("squeeze", view(x, shape, strides, x.impl()->offset), {x},
                   [at](Saved&, const Tensor& dy) { return Grads{unsqueeze(dy, at)}; });
}

Tensor squeeze(const Tensor& x) {
  check_defined("squeeze", "x", x);
  Dims shape, strides;
  for (int i = 0; i < x.rank(); ++i) {
    if (x.shape()[i] == 1) continue;
    shape.push(x.shape()[i]);
    strides.push(x.strides()[i]);
  }
  if (shape.n == x.rank()) return detail::unchanged(x);
  return with_grad("squeeze", view(x, shape, strides, x.impl()->offset), {x},
                   [from = x.shape()](Saved&, const Tensor& dy) { return Grads{reshape(dy, from)}; });
}

Tensor expand(const Tensor& x, const Dims& shape) {
  check_defined("expand", "x", x);
  const int extra = shape.n - x.rank();
  if (extra < 0) throw ShapeError(message("expand: shape ", x.shape(), " has more axes than ", shape));
  Dims to = shape, strides = shape;
  for (int i = 0; i < shape.n; ++i) {
    const int64_t from = i < extra ? 1 : x.shape()[i - extra];
    if (i >= extra && shape[i] == -1) to[i] = from;
    if (to[i] < 0 || (from != 1 && from != to[i]))
      throw ShapeError(message("expand: shape ", x.shape(), " does not broadcast to ", shape, " at axis ", i));
    strides[i] = i < extra || from != to[i] ? 0 : x.strides()[i - extra];
  }
  if (to == x.shape()) return detail::unchanged(x);
  return with_grad("expand", view(x, to, strides, x.impl()->offset), {x},
                   [](Saved&, const Tensor& dy) { return Grads{dy}; });  // the engine sums it to x's shape
}

Tensor contiguous(const Tensor& x) {
  check_defined("contiguous", "x", x);
  return x.is_contiguous() ? detail::unchanged(x) : clone(x);
}

}  // namespace tutti
