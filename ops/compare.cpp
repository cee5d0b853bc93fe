#include "tutti/ops/compare.h"

#include "tutti/autograd/with_grad.h"
#include "tutti/backends/contract/compare.h"
#include "tutti/backends/contract/make_view.h"
#include "tutti/core/error.h"

namespace tutti {
namespace {

void check_condition(const char* op, const char* argument, const Tensor& condition, const Tensor& x) {
  check_dtype(op, argument, condition, DType::boolean);
  check_defined(op, "an argument", x);
  if (condition.device() != x.device())
    throw DeviceError(message(op, ": devices ", condition.device(), " and ", x.device(),
                              " differ; move one with to(x, device)"));
}

/// x with `value` where mask == where_true.
Tensor fill_where(const char* op, const Tensor& x, const Tensor& mask, double value, bool where_true) {
  const Output y = output_like(x);
  kernel::masked_fill::on(x.device())(elements(y, x, mask), value, where_true);
  return with_grad(op, y, {x}, {mask}, [op, where_true](Saved& s, const Tensor& dy) {
    return Grads{fill_where(op, dy, s.constant(0), 0, where_true)};
  });
}

}  // namespace

Tensor masked_fill(const Tensor& x, const Tensor& mask, double value) {
  check_condition("masked_fill", "mask", mask, x);
  check_number("masked_fill", value, x.dtype());
  if (!(broadcast("masked_fill", x.shape(), mask.shape()) == x.shape()))
    throw ShapeError(
        message("masked_fill: a mask of shape ", mask.shape(), " does not broadcast to shape ", x.shape()));
  return fill_where("masked_fill", x, mask, value, true);
}

Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  check_condition("where", "condition", condition, a);
  const Dims shape = broadcast("where", broadcast("where", a, b), condition.shape());
  const Output y = output(shape, a.dtype(), a.device());
  kernel::where::on(a.device())(elements(y, condition, a, b));
  return with_grad("where", y, {condition, a, b}, {condition}, [](Saved& s, const Tensor& dy) {
    return Grads{Tensor(), s.wants(1) ? fill_where("where", dy, s[0], 0, false) : Tensor(),
                 s.wants(2) ? fill_where("where", dy, s[0], 0, true) : Tensor()};
  });
}

}  // namespace tutti
