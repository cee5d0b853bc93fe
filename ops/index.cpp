// Picking and placing by index: each op's gradient is its counterpart.
#include "tutti/ops/index.h"

#include <algorithm>

#include "tutti/autograd/with_grad.h"
#include "tutti/backends/contract/create.h"
#include "tutti/backends/contract/index.h"
#include "tutti/backends/contract/make_view.h"
#include "tutti/core/error.h"
#include "tutti/ops/copy.h"
#include "tutti/ops/create.h"
#include "tutti/ops/shape.h"

namespace tutti {
namespace {

/// The index as int64, every value in [0, limit).
Tensor checked_index(const char* op, const Tensor& index, Device device, int64_t limit) {
  check_defined(op, "index", index);
  if (index.dtype() != DType::int64 && index.dtype() != DType::int32)
    throw DTypeError(message(op, ": index must be int64 or int32, not ", index.dtype()));
  if (index.device() != device) throw DeviceError(message(op, ": index is on ", index.device(), ", not on ", device));
  const Tensor wide = to(index, DType::int64);
  kernel::check_index::on(device)(rows(wide, std::max(0, wide.rank() - 1)), limit, op);
  return wide;
}

/// x under the index's shape, standing still along the axis.
Tensor standing(const Tensor& x, int axis, const Dims& shape) {
  Dims strides = x.strides();
  strides[axis] = 0;
  return no_gradient(view(x, shape, strides, x.impl()->offset));
}

void check_same_axes(const char* op, const Tensor& x, int axis, const Tensor& index) {
  check_defined(op, "index", index);
  bool fits = index.rank() == x.rank();
  for (int i = 0; fits && i < x.rank(); ++i) fits = i == axis || index.shape()[i] <= x.shape()[i];
  if (!fits)
    throw ShapeError(
        message(op, ": index of shape ", index.shape(), " does not fit into shape ", x.shape(), " beside axis ", axis));
}

/// zeros(shape) with dy's slices along `axis` added where the 1-d index says. Its gradient is index_select.
Tensor index_add(const Tensor& dy, int axis, const Tensor& index, const Dims& shape) {
  if (size_of(dy.dtype()) == 2)  // sums of many half-precision numbers need more digits
    return to(index_add(to(dy, DType::float32), axis, index, shape), dy.dtype());
  const Output dx = output(shape, dy.dtype(), dy.device());
  kernel::fill::on(dy.device())(row_of(dx), 0);
  const Tensor x = contiguous(dy), places = contiguous(index);
  kernel::IndexAdd a{dx.data(), x.data(), places.data<int64_t>(), dx.dtype(), 1, shape[axis], places.numel(), 1};
  for (int i = 0; i < shape.n; ++i) (i < axis ? a.outer : a.inner) *= i == axis ? 1 : shape[i];
  kernel::index_add::on(dy.device())(a);
  return with_grad("index_add", dx, {dy}, {index},
                   [axis](Saved& s, const Tensor& d) { return Grads{index_select(d, axis, s.constant(0))}; });
}

/// x's slices along the axis, where a checked 1-d index says.
Tensor select_slices(const Tensor& x, int dim, const Tensor& places) {
  Dims shape = x.shape(), along = x.shape();
  shape[dim] = places.numel();
  for (int i = 0; i < along.n; ++i) along[i] = i == dim ? places.strides()[0] : 0;
  const Output y = output(shape, x.dtype(), x.device());
  const Tensor broadcast_index = no_gradient(view(places, shape, along, places.impl()->offset));
  kernel::gather::on(x.device())(elements(y, standing(x, dim, shape), broadcast_index), x.strides()[dim],
                                 x.shape()[dim]);
  return with_grad("index_select", y, {x}, {places}, [dim](Saved& s, const Tensor& dy) {
    return Grads{index_add(dy, dim, s.constant(0), s.input_shape(0))};
  });
}

}  // namespace

Tensor index_select(const Tensor& x, int64_t axis, const Tensor& index) {
  const int dim = check_axis("index_select", axis, x);
  check_defined("index_select", "index", index);
  if (index.rank() != 1) throw ShapeError(message("index_select: index of shape ", index.shape(), " is not 1-d"));
  return select_slices(x, dim, checked_index("index_select", index, x.device(), x.shape()[dim]));
}

Tensor embedding(const Tensor& index, const Tensor& weight) {
  check_defined("embedding", "index", index);
  check_defined("embedding", "weight", weight);
  if (weight.rank() != 2) throw ShapeError(message("embedding: weight of shape ", weight.shape(), " is not 2-d"));
  const Tensor places = reshape(checked_index("embedding", index, weight.device(), weight.shape()[0]), {-1});
  Dims shape = index.shape();
  shape.push(weight.shape()[1]);
  return reshape(select_slices(weight, 0, places), shape);
}

Tensor gather(const Tensor& x, int64_t axis, const Tensor& index) {
  const int dim = check_axis("gather", axis, x);
  check_same_axes("gather", x, dim, index);
  const Tensor places = checked_index("gather", index, x.device(), x.shape()[dim]);
  const Output y = output(index.shape(), x.dtype(), x.device());
  kernel::gather::on(x.device())(elements(y, standing(x, dim, index.shape()), places), x.strides()[dim],
                                 x.shape()[dim]);
  return with_grad("gather", y, {x}, {places}, [dim](Saved& s, const Tensor& dy) {
    return Grads{scatter_add(zeros(s.input_shape(0), {dy.dtype(), dy.device()}), dim, s.constant(0), dy)};
  });
}

Tensor scatter_add(const Tensor& x, int64_t axis, const Tensor& index, const Tensor& source) {
  const int dim = check_axis("scatter_add", axis, x);
  check_same_axes("scatter_add", x, dim, index);
  check_same("scatter_add", x, source, "x", "source");
  if (x.dtype() == DType::boolean) throw DTypeError("scatter_add: bool values cannot be added");
  if (!(source.shape() == index.shape()))
    throw ShapeError(
        message("scatter_add: source of shape ", source.shape(), " for an index of shape ", index.shape()));
  const Tensor places = checked_index("scatter_add", index, x.device(), x.shape()[dim]);
  if (size_of(x.dtype()) == 2)  // as in index_add
    return to(scatter_add(to(x, DType::float32), dim, places, to(source, DType::float32)), x.dtype());
  const Tensor copied = clone(x.detach());
  const Output y = in_place("scatter_add", copied);
  Dims part = index.shape();
  part[dim] = x.shape()[dim];
  kernel::scatter_add::on(x.device())(rows(y.view(part, y.strides(), 0), dim), rows(places, dim), rows(source, dim));
  return with_grad("scatter_add", y, {x, source}, {places}, [dim](Saved& s, const Tensor& dy) {
    return Grads{dy, s.wants(1) ? gather(dy, dim, s.constant(0)) : Tensor()};
  });
}

Tensor one_hot(const Tensor& index, int64_t classes) {
  check_defined("one_hot", "index", index);
  if (classes < 0) throw ValueError(message("one_hot: the number of classes, ", classes, ", is negative"));
  const Tensor places = checked_index("one_hot", index, index.device(), classes);
  Dims shape = index.shape();
  shape.push(classes);
  const TensorOptions options{DType::int64, index.device()};
  const Tensor at = unsqueeze(places, -1), one = expand(ones({}, options), at.shape());
  return scatter_add(zeros(shape, options), -1, at, one);
}

}  // namespace tutti
