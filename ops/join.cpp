// Joining and padding: every element of the result is written once. The gradients are views of the result's gradient.
#include "tutti/ops/join.h"

#include "tutti/autograd/with_grad.h"
#include "tutti/backends/contract/copy.h"
#include "tutti/backends/contract/create.h"
#include "tutti/backends/contract/make_view.h"
#include "tutti/core/error.h"
#include "tutti/ops/shape.h"

namespace tutti {
namespace {

void write(const Output& part, const Tensor& x) {
  if (x.numel() > 0) kernel::copy::on(x.device())(elements(part, x));
}

void check_list(const char* op, const std::vector<Tensor>& tensors) {
  if (tensors.empty()) throw ValueError(message(op, ": no tensors"));
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (!tensors[i].defined()) throw ValueError(message(op, ": tensor ", i, " is undefined"));
    const Tensor &first = tensors[0], &x = tensors[i];
    if (x.dtype() != first.dtype())
      throw DTypeError(message(op, ": tensor ", i, " is ", x.dtype(), ", tensor 0 is ", first.dtype()));
    if (x.device() != first.device())
      throw DeviceError(message(op, ": tensor ", i, " is on ", x.device(), ", tensor 0 is on ", first.device()));
  }
}

}  // namespace

Tensor cat(const std::vector<Tensor>& tensors, int64_t axis) {
  check_list("cat", tensors);
  const Tensor& first = tensors[0];
  if (first.rank() == 0) throw ShapeError("cat: 0-d tensors have no axis to join along; stack() makes one");
  const int dim = normalize_dim("cat", axis, first);
  Dims shape = first.shape();
  shape[dim] = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Dims& s = tensors[i].shape();
    if (s.n != shape.n)
      throw ShapeError(message("cat: tensor ", i, " has shape ", s, ", tensor 0 has ", first.shape(),
                               " (the numbers of axes differ)"));
    for (int k = 0; k < s.n; ++k)
      if (k != dim && s[k] != shape[k])
        throw ShapeError(message("cat: tensor ", i, " has shape ", s, ", tensor 0 has ", first.shape(),
                                 " (they differ at axis ", k, ", beside the joined axis ", dim, ")"));
    if (__builtin_add_overflow(shape[dim], s[dim], &shape[dim]))
      throw ShapeError(message("cat: the sizes along axis ", dim, " add up to more than 64 bits hold"));
  }
  const Output y = output(shape, first.dtype(), first.device());
  int64_t at = 0;
  for (const Tensor& x : tensors) {
    write(y.view(x.shape(), y.strides(), at * y.strides()[dim]), x);
    at += x.shape()[dim];
  }
  return with_grad("cat", y, tensors, [dim](Saved& s, const Tensor& dy) {
    Grads grads(static_cast<size_t>(s.input_count()));
    int64_t begin = 0;
    for (int i = 0; i < s.input_count(); ++i) {
      const int64_t end = begin + s.input_shape(i)[dim];
      if (s.wants(i)) grads[static_cast<size_t>(i)] = slice(dy, dim, begin, end);
      begin = end;
    }
    return grads;
  });
}

Tensor stack(const std::vector<Tensor>& tensors, int64_t axis) {
  check_list("stack", tensors);
  const Dims& from = tensors[0].shape();
  const int64_t at = axis < 0 ? axis + from.n + 1 : axis;
  if (at < 0 || at > from.n)
    throw IndexError(message("stack: axis ", axis, " is out of range for shape ", from, " and a new axis"));
  for (size_t i = 0; i < tensors.size(); ++i)
    if (!(tensors[i].shape() == from))
      throw ShapeError(message("stack: tensor ", i, " has shape ", tensors[i].shape(), ", tensor 0 has ", from));
  const int dim = static_cast<int>(at);
  Dims shape;
  for (int i = 0; i <= from.n; ++i) {
    if (i == dim) shape.push(static_cast<int64_t>(tensors.size()));
    if (i < from.n) shape.push(from[i]);
  }
  const Output y = output(shape, tensors[0].dtype(), tensors[0].device());
  Dims strides;
  for (int i = 0; i < shape.n; ++i)
    if (i != dim) strides.push(y.strides()[i]);
  for (size_t i = 0; i < tensors.size(); ++i)
    write(y.view(from, strides, static_cast<int64_t>(i) * y.strides()[dim]), tensors[i]);
  return with_grad("stack", y, tensors, [dim](Saved& s, const Tensor& dy) {
    Grads grads(static_cast<size_t>(s.input_count()));
    for (int i = 0; i < s.input_count(); ++i)
      if (s.wants(i)) grads[static_cast<size_t>(i)] = select(dy, dim, i);
    return grads;
  });
}

Tensor pad(const Tensor& x, const Dims& before, const Dims& after, Number value) {
  check_defined("pad", "x", x);
  if (before.n != x.rank() || after.n != x.rank())
    throw ShapeError(message("pad: amounts ", before, " and ", after, " for shape ", x.shape(), " (one per axis)"));
  Dims shape = x.shape();
  for (int i = 0; i < shape.n; ++i) {
    if (before[i] < 0 || after[i] < 0)
      throw ValueError(message("pad: amounts ", before, " and ", after, ": negative at axis ", i));
    if (__builtin_add_overflow(shape[i], before[i], &shape[i]) || __builtin_add_overflow(shape[i], after[i], &shape[i]))
      throw ShapeError(message("pad: amounts ", before, " and ", after, " are too large at axis ", i));
  }
  check_number("pad", value, x.dtype());
  const Output y = output(shape, x.dtype(), x.device());
  // Axis by axis, the slabs in front and behind; what remains in the middle goes on to the next axis.
  const auto fill = kernel::fill::on(y.device());
  Dims middle = shape;
  int64_t offset = 0;
  for (int i = 0; i < shape.n; ++i) {
    const auto slab = [&](int64_t start, int64_t size) {
      if (size == 0) return;
      Dims s = middle;
      s[i] = size;
      fill(rows(y.view(s, y.strides(), offset + start * y.strides()[i]), shape.n - 1), value);
    };
    slab(0, before[i]);
    slab(shape[i] - after[i], after[i]);
    middle[i] = x.shape()[i];
    offset += before[i] * y.strides()[i];
  }
  write(y.view(x.shape(), y.strides(), offset), x);
  return with_grad("pad", y, {x}, [before](Saved& s, const Tensor& dy) {
    Tensor dx = dy;
    for (int i = 0; i < before.n; ++i) dx = slice(dx, i, before[i], before[i] + s.input_shape(0)[i]);
    return Grads{dx};
  });
}

}  // namespace tutti
