#include "tutti/ops/copy.h"

#include "tutti/autograd/with_grad.h"
#include "tutti/backends/contract/copy.h"
#include "tutti/backends/contract/create.h"
#include "tutti/backends/contract/make_view.h"
#include "tutti/core/backend.h"
#include "tutti/core/error.h"
#include "tutti/ops/detail/unchanged.h"

namespace tutti {

Tensor clone(const Tensor& x) {
  check_defined("clone", "x", x);
  const Output y = output_like(x);
  kernel::copy::on(x.device())(elements(y, x));
  return with_grad("clone", y, {x}, [](Saved&, const Tensor& dy) { return Grads{dy}; });
}

Tensor to(const Tensor& x, DType dtype) {
  check_defined("to", "x", x);
  if (x.dtype() == dtype) return detail::unchanged(x);
  const Output y = output(x.shape(), dtype, x.device());
  kernel::copy::on(x.device())(elements(y, x));
  if (!is_floating(dtype) || !is_floating(x.dtype())) return no_gradient(y);
  return with_grad("to", y, {x}, [from = x.dtype()](Saved&, const Tensor& dy) { return Grads{to(dy, from)}; });
}

Tensor to(const Tensor& x, Device device) {
  check_defined("to", "x", x);
  if (x.device() == device) return detail::unchanged(x);
  const Tensor whole = x.is_contiguous() ? x : clone(x);
  const Output y = output(x.shape(), x.dtype(), device);
  // The CPU's own copy knows host memory only: the device's does both directions.
  const Device other = device.type == DeviceType::cpu ? x.device() : device;
  backend(other).copy(y.data(), device, whole.data(), x.device(), static_cast<size_t>(y.numel()) * size_of(x.dtype()));
  return with_grad("to", y, {x}, [from = x.device()](Saved&, const Tensor& dy) { return Grads{to(dy, from)}; });
}

void copy_(const Tensor& target, const Tensor& values) {
  check_defined("copy_", "target", target);
  check_defined("copy_", "values", values);
  if (!(broadcast("copy_", target.shape(), values.shape()) == target.shape()))
    throw ShapeError(
        message("copy_: values of shape ", values.shape(), " do not fit a target of shape ", target.shape()));
  if (grad_mode() && values.requires_grad())
    throw AutogradError(
        "copy_: the values require a gradient, which is lost in an in-place copy; detach() them, use no_grad or an "
        "out-of-place operation");
  const Output y = in_place("copy_", target);
  const no_grad off;
  Tensor here = to(values, target.device());
  if (here.impl()->storage == target.impl()->storage) here = clone(here);  // the two may overlap
  kernel::copy::on(target.device())(elements(y, here));
}

void fill_(const Tensor& target, Number value) {
  check_defined("fill_", "target", target);
  if (target.dtype() != DType::boolean) check_number("fill_", value, target.dtype());
  const Output y = in_place("fill_", target);
  int along = target.rank() - 1;  // the axis that lies densest in memory
  for (int i = 0; i < target.rank(); ++i)
    if (target.strides()[i] == 1 && target.shape()[i] > 1) along = i;
  kernel::fill::on(target.device())(rows(y, along), value);
}

}  // namespace tutti
