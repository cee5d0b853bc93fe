// Kernels of functions of one tensor and of their gradients.
#pragma once
#include "tutti/backends/contract/kernel.h"
#include "tutti/backends/contract/view.h"
#include "tutti/core/number.h"

namespace tutti {

/// The functions that `unary` and `unary_backward` know. `neg` and `abs` also take integers.
enum class Unary {
  neg,
  abs,
  exp,
  log,
  log1p,
  sqrt,
  rsqrt,
  reciprocal,
  square,
  sin,
  cos,
  tanh,
  sigmoid,
  relu,
  silu,
  gelu,
  gelu_tanh
};

namespace kernel {

/// out = f(x), out of the dtype of x.
struct unary : Kernel<unary> {
  template <class Target>
  static void run(Unary f, const Elements<1>& e);
};

/// out = dy f'(x) from (dy, z): z is y = f(x) for exp, sqrt, rsqrt, reciprocal, tanh, sigmoid and relu, else x.
struct unary_backward : Kernel<unary_backward> {
  template <class Target>
  static void run(Unary f, const Elements<2>& e);
};

/// out = x limited to [low, high]; NaN stays NaN.
struct clamp : Kernel<clamp> {
  template <class Target>
  static void run(const Elements<1>& e, Number low, Number high);
};

/// out = dy where low <= x <= high, else 0, from (dy, x).
struct clamp_backward : Kernel<clamp_backward> {
  template <class Target>
  static void run(const Elements<2>& e, Number low, Number high);
};

/// out = x^exponent, elementwise; and with one exponent for all.
struct pow : Kernel<pow> {
  template <class Target>
  static void run(const Elements<2>& e);
};
struct pow_scalar : Kernel<pow_scalar> {
  template <class Target>
  static void run(const Elements<1>& e, double exponent);
};

}  // namespace kernel
}  // namespace tutti
