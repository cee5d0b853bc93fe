// Comparison and selection on the CPU.
#include "tutti/backends/contract/compare.h"

#include "tutti/backends/cpu/elementwise.h"

namespace tutti {

template <>
void kernel::where::run<Here>(const Elements<3>& e) {
  for_compute(e.out_dtype, [&]<class T>(T) {
    if constexpr (std::is_floating_point_v<T>)
      elementwise<T>(e, [](batch<T> c, batch<T> a, batch<T> b) { return select(c != batch<T>(T{0}), a, b); });
    else
      elementwise<T>(e, [](T c, T a, T b) { return c ? a : b; });
  });
}

template <>
void kernel::masked_fill::run<Here>(const Elements<2>& e, double value, bool where_true) {
  for_compute(e.out_dtype, [&]<class T>(T) {
    const T v = static_cast<T>(value);
    if constexpr (std::is_floating_point_v<T>) {
      const batch<T> fill(v), zero(T{0});
      if (where_true)
        elementwise<T>(e, [=](batch<T> x, batch<T> m) { return select(m != zero, fill, x); });
      else
        elementwise<T>(e, [=](batch<T> x, batch<T> m) { return select(m != zero, x, fill); });
    } else {
      elementwise<T>(e, [=](T x, T m) { return (m != 0) == where_true ? v : x; });
    }
  });
}

}  // namespace tutti
