#include "tutti/core/check.h"

#include "tutti/core/error.h"

namespace tutti {

void check_defined(const char* op, const char* argument, const Tensor& x) {
  if (!x.defined()) throw ValueError(message(op, ": ", argument, " is undefined"));
}

void check_same(const char* op, const Tensor& a, const Tensor& b, const char* name_a, const char* name_b) {
  check_defined(op, name_a, a);
  check_defined(op, name_b, b);
  if (a.dtype() != b.dtype())
    throw DTypeError(message(op, ": dtypes ", a.dtype(), " and ", b.dtype(), " differ; convert one with to(x, dtype)"));
  if (a.device() != b.device())
    throw DeviceError(
        message(op, ": devices ", a.device(), " and ", b.device(), " differ; move one with to(x, device)"));
}

void check_floating(const char* op, DType dtype) {
  if (!is_floating(dtype)) throw DTypeError(message(op, ": ", dtype, " is not a floating dtype"));
}

void check_floating(const char* op, const Tensor& x, const char* argument) {
  check_defined(op, argument, x);
  check_floating(op, x.dtype());
}

void check_dtype(const char* op, const char* argument, const Tensor& x, DType wanted) {
  check_defined(op, argument, x);
  if (x.dtype() != wanted) throw DTypeError(message(op, ": ", argument, " must be ", wanted, ", not ", x.dtype()));
}

void check_number(const char* op, Number number, DType dtype) {
  if (!number.fits(dtype))
    throw ValueError(message(op, ": ", number, " is not a value of ", dtype, "; convert with to(x, dtype)"));
}

int check_axis(const char* op, int64_t axis, const Tensor& x) {
  check_defined(op, "x", x);
  if (x.rank() == 0) throw IndexError(message(op, ": a 0-d tensor has no axis ", axis));
  return normalize_dim(op, axis, x);
}

}  // namespace tutti
