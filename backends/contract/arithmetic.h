// Kernels of binary arithmetic.
#pragma once
#include "tutti/backends/contract/kernel.h"
#include "tutti/backends/contract/view.h"
#include "tutti/core/number.h"

namespace tutti {

enum class Arithmetic { add, sub, mul, div, maximum, minimum };

namespace kernel {

/// out = a op b, all of one dtype (bool excepted; div: floating). Integers wrap around. maximum and minimum give NaN if
/// either operand is. out may be one of the inputs.
struct arithmetic : Kernel<arithmetic> {
  template <class Target>
  static void run(Arithmetic op, const Elements<2>& e);
};

/// The same with a number, which is a value of the dtype, as the second operand or (number_first) the first.
struct arithmetic_scalar : Kernel<arithmetic_scalar> {
  template <class Target>
  static void run(Arithmetic op, const Elements<1>& e, Number number, bool number_first);
};

/// -dy y / b: the gradient of y = a / b with respect to b, from (dy, y, b).
struct div_backward : Kernel<div_backward> {
  template <class Target>
  static void run(const Elements<3>& e);
};

/// The gradient of maximum(a, b) with respect to a, from (dy, a, b): 0 where a < b, dy / 2 where they are equal, else
/// (also for a NaN) dy. minimum likewise.
struct extremum_backward : Kernel<extremum_backward> {
  template <class Target>
  static void run(Arithmetic op, const Elements<3>& e);
};

}  // namespace kernel
}  // namespace tutti
