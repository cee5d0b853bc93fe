// Kernels of comparison, logic and selection.
#pragma once
#include "tutti/backends/contract/kernel.h"
#include "tutti/backends/contract/view.h"
#include "tutti/core/number.h"

namespace tutti {

enum class Compare { eq, ne, lt, le, gt, ge };
enum class Logic { both, either };

namespace kernel {

/// out (bool) = a op b, both of one dtype.
struct compare : Kernel<compare> {
  template <class Target>
  static void run(Compare op, const Elements<2>& e);
};

/// The same with a number as the second operand; for integers it is one of their values.
struct compare_scalar : Kernel<compare_scalar> {
  template <class Target>
  static void run(Compare op, const Elements<1>& e, Number number);
};

/// out = a and b, a or b: all bool.
struct logic : Kernel<logic> {
  template <class Target>
  static void run(Logic op, const Elements<2>& e);
};

/// out = condition ? a : b from (condition, a, b): bool, and two of the dtype of out.
struct where : Kernel<where> {
  template <class Target>
  static void run(const Elements<3>& e);
};

/// out = (mask == where_true) ? value : x from (x, mask): one of the dtype of out, and bool.
struct masked_fill : Kernel<masked_fill> {
  template <class Target>
  static void run(const Elements<2>& e, Number value, bool where_true);
};

}  // namespace kernel
}  // namespace tutti
