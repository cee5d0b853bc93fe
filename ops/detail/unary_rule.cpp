#include "tutti/ops/detail/unary_rule.h"

#include "tutti/autograd/with_grad.h"
#include "tutti/backends/contract/make_view.h"
#include "tutti/core/error.h"
#include "tutti/ops/activation.h"
#include "tutti/ops/arithmetic.h"
#include "tutti/ops/unary.h"

namespace tutti::detail {
namespace {

const char* name_of(Unary f) {
  static const char* const names[] = {"neg", "abs", "exp",  "log",     "log1p", "sqrt", "rsqrt", "reciprocal", "square",
                                      "sin", "cos", "tanh", "sigmoid", "relu",  "silu", "gelu",  "gelu"};
  return names[static_cast<int>(f)];
}

/// Whether the gradient is written with y = f(x) (or else with x).
bool uses_output(Unary f) {
  switch (f) {
    case Unary::exp:
    case Unary::sqrt:
    case Unary::rsqrt:
    case Unary::reciprocal:
    case Unary::tanh:
    case Unary::sigmoid:
    case Unary::relu:
      return true;
    default:
      return false;
  }
}

/// Whether y is made again for backward rather than kept: the gradient keeps x, and whoever takes y often keeps y too.
bool remade(Unary f) { return f == Unary::gelu || f == Unary::gelu_tanh || f == Unary::silu; }

Output result(Unary f, const Tensor& x) {
  const Output y = output_like(x);
  kernel::unary::on(x.device())(f, elements(y, x));
  return y;
}

Tensor one_minus(const Tensor& x) { return sub(1.0, x); }

Tensor gelu_curvature(const Tensor& x) {  // phi(x) (2 - x²)
  const Tensor square_x = square(x);
  return mul(mul(exp(mul(square_x, -0.5)), 0.39894228040143267794), sub(2.0, square_x));
}

Tensor gelu_tanh_curvature(const Tensor& x) {
  // y = x s(u) with u = c (x + a x³): y'' = 2 s' u' + x (s'' u'² + s' u''), s' = s (1 - s), s'' = s' (1 - 2 s)
  const double c = 1.5957691216057308, a = 0.044715;
  const Tensor square_x = square(x);
  const Tensor s = sigmoid(mul(mul(x, c), add(mul(square_x, a), 1)));
  const Tensor s1 = mul(s, one_minus(s)), s2 = mul(s1, sub(1.0, mul(s, 2)));
  const Tensor u1 = add(mul(square_x, 3 * a * c), c), u2 = mul(x, 6 * a * c);
  return add(mul(mul(s1, u1), 2), mul(x, add(mul(s2, square(u1)), mul(s1, u2))));
}

Tensor silu_curvature(const Tensor& x) {
  const Tensor s = sigmoid(x);
  return mul(mul(s, one_minus(s)), add(mul(x, sub(1.0, mul(s, 2))), 2));
}

/// The derivative with respect to z of the factor that unary_backward multiplies dy by; undefined where it is 0.
Tensor curvature(Unary f, const Tensor& z) {
  switch (f) {
    case Unary::neg:
    case Unary::abs:
    case Unary::relu:
    case Unary::exp:
    case Unary::square:
      return {};
    case Unary::log:
      return neg(reciprocal(square(z)));
    case Unary::log1p:
      return neg(reciprocal(square(add(z, 1))));
    case Unary::sqrt:
      return mul(reciprocal(square(z)), -0.5);
    case Unary::rsqrt:
      return mul(square(z), -1.5);
    case Unary::reciprocal:
    case Unary::tanh:
      return mul(z, -2);
    case Unary::sin:
      return neg(sin(z));
    case Unary::cos:
      return neg(cos(z));
    case Unary::sigmoid:
      return sub(1.0, mul(z, 2));
    case Unary::silu:
      return silu_curvature(z);
    case Unary::gelu:
      return gelu_curvature(z);
    case Unary::gelu_tanh:
      return gelu_tanh_curvature(z);
  }
  return {};
}

/// dy f'(x), as an operation of its own; into `dx`.
Tensor gradient(Unary f, const Tensor& dy, const Tensor& z, const Output& dx) {
  kernel::unary_backward::on(dy.device())(f, elements(dx, dy, z));
  return with_grad(name_of(f), dx, {dy, z}, {dy, z}, [f](Saved& s, const Tensor& g) {
    Tensor dz;
    if (s.wants(1)) {
      if (f == Unary::exp) dz = mul(g, s[0]);
      if (f == Unary::square) dz = mul(mul(g, s[0]), 2);
      if (const Tensor c = curvature(f, s[1]); c.defined()) dz = mul(mul(g, s[0]), c);
    }
    return Grads{s.wants(0) ? gradient(f, g, s[1], output_like(g)) : Tensor(), dz};
  });
}

}  // namespace

Tensor unary_gradient(Unary f, const Tensor& dy, const Tensor& z) { return gradient(f, dy, z, output_like(dy)); }

Tensor unary(Unary f, const Tensor& x) {
  const char* const name = name_of(f);
  if (f == Unary::neg || f == Unary::abs) {
    check_defined(name, "x", x);
    if (x.dtype() == DType::boolean)
      throw DTypeError(message(name, ": bool tensors have no arithmetic; convert with to(x, dtype)"));
  } else {
    check_floating(name, x);
  }
  const Output y = result(f, x);
  if (f == Unary::neg)  // its gradient needs nothing
    return with_grad(name, y, {x}, [](Saved&, const Tensor& dy) { return Grads{neg(dy)}; });
  const Keep saved = uses_output(f) ? Keep(y) : Keep(x);
  const auto backward = [f](Saved& s, const Tensor& dy) { return Grads{gradient(f, dy, s[0], output_over(dy))}; };
  if (!remade(f)) return with_grad(name, y, {x}, {saved}, backward);
  return with_grad(name, y, {x}, {saved}, backward, [f](std::span<const Tensor> s) { return result(f, s[0]); });
}

}  // namespace tutti::detail
