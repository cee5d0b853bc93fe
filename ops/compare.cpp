#include "tutti/ops/compare.h"

#include "tutti/autograd/with_grad.h"
#include "tutti/backends/contract/compare.h"
#include "tutti/backends/contract/make_view.h"
#include "tutti/core/error.h"

namespace tutti {
namespace {

void check_condition(const char* op, const char* argument, const Tensor& condition, const char* name, const Tensor& x) {
  check_dtype(op, argument, condition, DType::boolean);
  check_defined(op, name, x);
  if (condition.device() != x.device())
    throw DeviceError(
        message(op, ": devices ", condition.device(), " and ", x.device(), " differ; move one with to(x, device)"));
}

Tensor compare(const char* name, Compare op, const Tensor& a, const Tensor& b) {
  const Dims shape = broadcast(name, a, b);
  const Output y = output(shape, DType::boolean, a.device());
  kernel::compare::on(a.device())(op, elements(y, a, b));
  return no_gradient(y);
}

Tensor compare(const char* name, Compare op, const Tensor& x, Number number) {
  check_defined(name, "x", x);
  check_number(name, number, x.dtype());
  const Output y = output(x.shape(), DType::boolean, x.device());
  kernel::compare_scalar::on(x.device())(op, elements(y, x), number);
  return no_gradient(y);
}

Tensor logic(const char* name, Logic op, const Tensor& a, const Tensor& b) {
  check_dtype(name, "a", a, DType::boolean);
  check_dtype(name, "b", b, DType::boolean);
  const Output y = output(broadcast(name, a, b), DType::boolean, a.device());
  kernel::logic::on(a.device())(op, elements(y, a, b));
  return no_gradient(y);
}

/// x with `value` where mask == where_true.
Tensor fill_where(const char* op, const Tensor& x, const Tensor& mask, Number value, bool where_true) {
  const Output y = output_like(x);
  kernel::masked_fill::on(x.device())(elements(y, x, mask), value, where_true);
  return with_grad(op, y, {x}, {mask}, [op, where_true](Saved& s, const Tensor& dy) {
    return Grads{fill_where(op, dy, s.constant(0), 0, where_true)};
  });
}

}  // namespace

Tensor eq(const Tensor& a, const Tensor& b) { return compare("eq", Compare::eq, a, b); }
Tensor ne(const Tensor& a, const Tensor& b) { return compare("ne", Compare::ne, a, b); }
Tensor lt(const Tensor& a, const Tensor& b) { return compare("lt", Compare::lt, a, b); }
Tensor le(const Tensor& a, const Tensor& b) { return compare("le", Compare::le, a, b); }
Tensor gt(const Tensor& a, const Tensor& b) { return compare("gt", Compare::gt, a, b); }
Tensor ge(const Tensor& a, const Tensor& b) { return compare("ge", Compare::ge, a, b); }
Tensor eq(const Tensor& a, Number b) { return compare("eq", Compare::eq, a, b); }
Tensor ne(const Tensor& a, Number b) { return compare("ne", Compare::ne, a, b); }
Tensor lt(const Tensor& a, Number b) { return compare("lt", Compare::lt, a, b); }
Tensor le(const Tensor& a, Number b) { return compare("le", Compare::le, a, b); }
Tensor gt(const Tensor& a, Number b) { return compare("gt", Compare::gt, a, b); }
Tensor ge(const Tensor& a, Number b) { return compare("ge", Compare::ge, a, b); }

Tensor logical_and(const Tensor& a, const Tensor& b) { return logic("logical_and", Logic::both, a, b); }
Tensor logical_or(const Tensor& a, const Tensor& b) { return logic("logical_or", Logic::either, a, b); }
Tensor logical_not(const Tensor& x) {
  check_dtype("logical_not", "x", x, DType::boolean);
  return compare("logical_not", Compare::eq, x, 0);
}
Tensor isnan(const Tensor& x) {
  check_defined("isnan", "x", x);
  return compare("isnan", Compare::ne, x, x);
}

Tensor masked_fill(const Tensor& x, const Tensor& mask, Number value) {
  check_condition("masked_fill", "mask", mask, "x", x);
  check_number("masked_fill", value, x.dtype());
  if (!(broadcast("masked_fill", x.shape(), mask.shape()) == x.shape()))
    throw ShapeError(
        message("masked_fill: a mask of shape ", mask.shape(), " does not broadcast to shape ", x.shape()));
  return fill_where("masked_fill", x, mask, value, true);
}

Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  check_condition("where", "condition", condition, "a", a);
  const Dims shape = broadcast("where", broadcast("where", a, b), condition.shape());
  const Output y = output(shape, a.dtype(), a.device());
  kernel::where::on(a.device())(elements(y, condition, a, b));
  return with_grad("where", y, {condition, a, b}, {condition}, [](Saved& s, const Tensor& dy) {
    return Grads{Tensor(), s.wants(1) ? fill_where("where", dy, s[0], 0, false) : Tensor(),
                 s.wants(2) ? fill_where("where", dy, s[0], 0, true) : Tensor()};
  });
}

}  // namespace tutti
