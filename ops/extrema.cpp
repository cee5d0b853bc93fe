#include "tutti/ops/extrema.h"

#include "tutti/autograd/with_grad.h"
#include "tutti/backends/contract/copy.h"
#include "tutti/backends/contract/extrema.h"
#include "tutti/backends/contract/make_lines.h"
#include "tutti/core/error.h"
#include "tutti/ops/arithmetic.h"
#include "tutti/ops/detail/reversed.h"
#include "tutti/ops/index.h"
#include "tutti/ops/shape.h"

namespace tutti {
namespace {

/// The product of the sizes after `axis`: the distance of neighbours along it in a contiguous tensor.
int64_t inner_of(const Dims& shape, int axis) {
  int64_t n = 1;
  for (int i = axis + 1; i < shape.n; ++i) n *= shape[i];
  return n;
}

/// Zeros of size `width` along `axis`, with `values` at `indices` (distinct along the axis): what max and topk undo.
Tensor scatter(const Tensor& values, const Tensor& indices, int axis, int64_t width) {
  const Tensor from = contiguous(values);
  Dims shape = from.shape();
  if (shape.n) shape[axis] = width;
  Output y = output(shape, from.dtype(), from.device());
  const int64_t k = from.rank() ? from.shape()[axis] : 1, inner = inner_of(shape, axis);
  kernel::place::on(from.device())(from.dtype(), from.data(), indices.data<int64_t>(), y.data(),
                                   y.numel() / (width ? width : 1), k, width, inner);
  return with_grad("scatter", y, {values}, {indices}, [axis](Saved& s, const Tensor& dy) {
    return Grads{dy.rank() ? gather(dy, axis, s.constant(0)) : dy};
  });
}

int check(const char* op, const Tensor& x, int64_t axis) {
  check_defined(op, "x", x);
  const int dim = normalize_dim(op, axis, x);
  if (x.rank() && x.shape()[dim] == 0)
    throw ValueError(message(op, ": axis ", axis, " of shape ", x.shape(), " has no elements"));
  return dim;
}

/// One line of all elements.
Tensor flat(const char* op, const Tensor& x) {
  check_defined(op, "x", x);
  if (x.numel() == 0) throw ValueError(message(op, ": shape ", x.shape(), " has no elements"));
  return x.rank() == 1 ? x : reshape(x, {x.numel()});
}

Dims without(const Tensor& x, int dim, bool keepdim) {
  Dims shape;
  for (int i = 0; i < x.rank(); ++i) {
    if (i != dim) shape.push(x.shape()[i]);
    if (i == dim && keepdim) shape.push(1);
  }
  return shape;
}

ValuesIndices extremum(const char* op, const Tensor& x, int64_t axis, bool keepdim, bool largest) {
  const int dim = check(op, x, axis);
  const Dims shape = without(x, dim, keepdim);
  Output values = output(shape, x.dtype(), x.device()), at = output(shape, DType::int64, x.device());
  kernel::extremum::on(x.device())(lines(dim, x), values.data(), at.data<int64_t>(), largest);
  const Tensor indices = no_gradient(at);
  const Dims ones = without(x, dim, true);
  const int64_t width = x.rank() ? x.shape()[dim] : 1;
  const Tensor y = with_grad(op, values, {x}, {indices}, [dim, ones, width](Saved& s, const Tensor& dy) {
    return Grads{scatter(reshape(dy, ones), reshape(s.constant(0), ones), dim, width)};
  });
  return {y, indices};
}

Tensor position(const char* op, const Tensor& x, int64_t axis, bool keepdim, bool largest) {
  const int dim = check(op, x, axis);
  Output at = output(without(x, dim, keepdim), DType::int64, x.device());
  kernel::extremum::on(x.device())(lines(dim, x), nullptr, at.data<int64_t>(), largest);
  return no_gradient(at);
}

}  // namespace

Tensor max(const Tensor& x) { return extremum("max", flat("max", x), 0, false, true).values; }
Tensor min(const Tensor& x) { return extremum("min", flat("min", x), 0, false, false).values; }
ValuesIndices max(const Tensor& x, int64_t axis, bool keepdim) { return extremum("max", x, axis, keepdim, true); }
ValuesIndices min(const Tensor& x, int64_t axis, bool keepdim) { return extremum("min", x, axis, keepdim, false); }
Tensor argmax(const Tensor& x) { return position("argmax", flat("argmax", x), 0, false, true); }
Tensor argmin(const Tensor& x) { return position("argmin", flat("argmin", x), 0, false, false); }
Tensor argmax(const Tensor& x, int64_t axis, bool keepdim) { return position("argmax", x, axis, keepdim, true); }
Tensor argmin(const Tensor& x, int64_t axis, bool keepdim) { return position("argmin", x, axis, keepdim, false); }

ValuesIndices topk(const Tensor& x, int64_t k, int64_t axis, bool largest) {
  check_defined("topk", "x", x);
  const int dim = normalize_dim("topk", axis, x);
  const int64_t width = x.rank() ? x.shape()[dim] : 1;
  if (k < 0 || k > width)
    throw IndexError(
        message("topk: k = ", k, " is out of range [0, ", width, "] for axis ", axis, " of shape ", x.shape()));
  if (x.rank() == 0 && k == 0) throw IndexError("topk: k = 0 of a 0-d tensor");
  Dims shape = x.shape();
  if (shape.n) shape[dim] = k;
  Output values = output(shape, x.dtype(), x.device()), at = output(shape, DType::int64, x.device());
  kernel::topk::on(x.device())(lines(dim, x), values.data(), at.data<int64_t>(), k, inner_of(shape, dim), largest);
  const Tensor indices = no_gradient(at);
  const Tensor y = with_grad("topk", values, {x}, {indices}, [dim, width](Saved& s, const Tensor& dy) {
    return Grads{scatter(dy, s.constant(0), dim, width)};
  });
  return {y, indices};
}

namespace {

/// A contiguous copy with the order along the axis reversed.
Output turned(const Output& x, int dim) {
  const Output y = output(x.shape(), x.dtype(), x.device());
  kernel::copy::on(x.device())(elements(y, detail::reversed(no_gradient(x), 1u << dim)));
  return y;
}

}  // namespace

ValuesIndices sort(const Tensor& x, int64_t axis, bool descending) {
  check_defined("sort", "x", x);
  const int dim = normalize_dim("sort", axis, x);
  const int64_t width = x.rank() ? x.shape()[dim] : 1;
  Output values = output_like(x), at = output(x.shape(), DType::int64, x.device());
  // Ascending is descending read backwards, of the line read backwards: then equal ones keep their order.
  const Tensor line = descending ? x.detach() : detail::reversed(x, 1u << dim);
  kernel::topk::on(x.device())(lines(dim, line), values.data(), at.data<int64_t>(), width, inner_of(x.shape(), dim),
                               /*largest=*/true);
  if (!descending) values = turned(values, dim), at = turned(at, dim);
  const Tensor indices = descending ? no_gradient(at) : sub(Number(width - 1), no_gradient(at));
  const Tensor y = with_grad("sort", values, {x}, {indices}, [dim, width](Saved& s, const Tensor& dy) {
    return Grads{scatter(dy, s.constant(0), dim, width)};
  });
  return {y, indices};
}

Tensor argsort(const Tensor& x, int64_t axis, bool descending) {
  check_defined("argsort", "x", x);
  normalize_dim("argsort", axis, x);
  return sort(x.detach(), axis, descending).indices;
}

}  // namespace tutti
