#include "tutti/ops/arithmetic.h"

#include "tutti/autograd/with_grad.h"
#include "tutti/backends/contract/arithmetic.h"
#include "tutti/backends/contract/make_view.h"
#include "tutti/core/error.h"
#include "tutti/ops/copy.h"
#include "tutti/ops/unary.h"

namespace tutti {
namespace {

void check_arithmetic(const char* op, const Tensor& x) {
  if (x.dtype() == DType::boolean)
    throw DTypeError(message(op, ": bool tensors have no arithmetic; convert with to(x, dtype)"));
}

Output compute(const char* name, Arithmetic op, const Tensor& a, const Tensor& b) {
  const Dims shape = broadcast(name, a, b);
  check_arithmetic(name, a);
  Output y = output(shape, a.dtype(), a.device());
  kernel::arithmetic::on(a.device())(op, elements(y, a, b));
  return y;
}

Output compute(const char* name, Arithmetic op, const Tensor& x, Number number, bool number_first) {
  check_defined(name, number_first ? "b" : "a", x);
  check_arithmetic(name, x);
  check_number(name, number, x.dtype());
  Output y = output_like(x);
  kernel::arithmetic_scalar::on(x.device())(op, elements(y, x), number, number_first);
  return y;
}

}  // namespace

Tensor add(const Tensor& a, const Tensor& b) {
  const Output y = compute("add", Arithmetic::add, a, b);
  return with_grad("add", y, {a, b}, [](Saved&, const Tensor& dy) { return Grads{dy, dy}; });
}

Tensor sub(const Tensor& a, const Tensor& b) {
  const Output y = compute("sub", Arithmetic::sub, a, b);
  return with_grad("sub", y, {a, b}, [](Saved& s, const Tensor& dy) {
    return Grads{dy, s.wants(1) ? neg(dy) : Tensor()};
  });
}

Tensor mul(const Tensor& a, const Tensor& b) {
  const Output y = compute("mul", Arithmetic::mul, a, b);
  return with_grad("mul", y, {a, b}, {Keep(a, b.requires_grad()), Keep(b, a.requires_grad())},
                   [](Saved& s, const Tensor& dy) {
                     return Grads{s.wants(0) ? mul(dy, s[1]) : Tensor(), s.wants(1) ? mul(dy, s[0]) : Tensor()};
                   });
}

namespace {
/// d(a / b)/db · dy = -dy y / b
Tensor div_gradient(const Tensor& dy, const Tensor& y, const Tensor& b) {
  if (grad_mode()) return neg(mul(dy, div(y, b)));
  const Output db = output_like(dy);
  kernel::div_backward::on(dy.device())(elements(db, dy, y, b));
  return no_gradient(db);
}
}  // namespace

Tensor div(const Tensor& a, const Tensor& b) {
  check_floating("div", a, "a");
  const Output y = compute("div", Arithmetic::div, a, b);
  return with_grad("div", y, {a, b}, {b, Keep(y, b.requires_grad())}, [](Saved& s, const Tensor& dy) {
    return Grads{s.wants(0) ? div(dy, s[0]) : Tensor(), s.wants(1) ? div_gradient(dy, s[1], s[0]) : Tensor()};
  });
}

Tensor add(const Tensor& a, Number b) {
  const Output y = compute("add", Arithmetic::add, a, b, false);
  return with_grad("add", y, {a}, [](Saved&, const Tensor& dy) { return Grads{dy}; });
}

Tensor sub(const Tensor& a, Number b) {
  const Output y = compute("sub", Arithmetic::sub, a, b, false);
  return with_grad("sub", y, {a}, [](Saved&, const Tensor& dy) { return Grads{dy}; });
}

Tensor sub(Number a, const Tensor& b) {
  const Output y = compute("sub", Arithmetic::sub, b, a, true);
  return with_grad("sub", y, {b}, [](Saved&, const Tensor& dy) { return Grads{neg(dy)}; });
}

Tensor mul(const Tensor& a, Number b) {
  const Output y = compute("mul", Arithmetic::mul, a, b, false);
  return with_grad("mul", y, {a}, [b](Saved&, const Tensor& dy) { return Grads{mul(dy, b)}; });
}

Tensor div(const Tensor& a, Number b) {
  check_floating("div", a, "a");
  const Output y = compute("div", Arithmetic::div, a, b, false);
  return with_grad("div", y, {a}, [b](Saved&, const Tensor& dy) { return Grads{div(dy, b)}; });
}

Tensor div(Number a, const Tensor& b) {
  check_floating("div", b, "b");
  const Output y = compute("div", Arithmetic::div, b, a, true);
  return with_grad("div", y, {b}, {b, y},
                   [](Saved& s, const Tensor& dy) { return Grads{div_gradient(dy, s[1], s[0])}; });
}

namespace {
/// d(maximum or minimum)/da · dy
Tensor extremum_gradient(Arithmetic op, const Tensor& dy, const Tensor& a, const Tensor& b) {
  const Output da = output_like(dy);
  kernel::extremum_backward::on(dy.device())(op, elements(da, dy, a, b));
  return with_grad(
      op == Arithmetic::maximum ? "maximum" : "minimum", da, {dy}, {a, b},
      [op](Saved& s, const Tensor& g) { return Grads{extremum_gradient(op, g, s.constant(0), s.constant(1))}; });
}

Tensor extremum(const char* name, Arithmetic op, const Tensor& a, const Tensor& b) {
  const Output y = compute(name, op, a, b);
  return with_grad(name, y, {a, b}, {a, b}, [op](Saved& s, const Tensor& dy) {
    return Grads{s.wants(0) ? extremum_gradient(op, dy, s[0], s[1]) : Tensor(),
                 s.wants(1) ? extremum_gradient(op, dy, s[1], s[0]) : Tensor()};
  });
}
}  // namespace

Tensor maximum(const Tensor& a, const Tensor& b) { return extremum("maximum", Arithmetic::maximum, a, b); }
Tensor minimum(const Tensor& a, const Tensor& b) { return extremum("minimum", Arithmetic::minimum, a, b); }

namespace {

void write(const char* name, Arithmetic op, const Tensor& a, const Tensor& b) {
  if (!(broadcast(name, a, b) == a.shape()))
    throw ShapeError(message(name, ": b of shape ", b.shape(), " does not fit into a of shape ", a.shape()));
  check_arithmetic(name, a);
  if (grad_mode() && b.requires_grad())
    throw AutogradError(message(name,
                                ": b requires a gradient, which is lost in an in-place change; detach() it, use "
                                "no_grad or an out-of-place operation"));
  const Output y = in_place(name, a);
  const no_grad off;
  const bool shared = a.impl()->storage == b.impl()->storage;  // the two may overlap
  kernel::arithmetic::on(y.device())(op, elements(y, a, shared ? clone(b) : b));
}

void write(const char* name, Arithmetic op, const Tensor& a, Number b) {
  check_defined(name, "a", a);
  check_arithmetic(name, a);
  check_number(name, b, a.dtype());
  const Output y = in_place(name, a);
  kernel::arithmetic_scalar::on(y.device())(op, elements(y, a), b, /*number_first=*/false);
}

}  // namespace

void add_(const Tensor& a, const Tensor& b) { write("add_", Arithmetic::add, a, b); }
void sub_(const Tensor& a, const Tensor& b) { write("sub_", Arithmetic::sub, a, b); }
void mul_(const Tensor& a, const Tensor& b) { write("mul_", Arithmetic::mul, a, b); }
void div_(const Tensor& a, const Tensor& b) {
  check_floating("div_", a, "a");
  write("div_", Arithmetic::div, a, b);
}
void add_(const Tensor& a, Number b) { write("add_", Arithmetic::add, a, b); }
void sub_(const Tensor& a, Number b) { write("sub_", Arithmetic::sub, a, b); }
void mul_(const Tensor& a, Number b) { write("mul_", Arithmetic::mul, a, b); }
void div_(const Tensor& a, Number b) {
  check_floating("div_", a, "a");
  write("div_", Arithmetic::div, a, b);
}

void accumulate(const Output& a, const Tensor& b) {
  const Tensor self = Access::tensor(Access::handle(a));
  kernel::arithmetic::on(b.device())(Arithmetic::add, elements(a, self, b));
}

}  // namespace tutti
