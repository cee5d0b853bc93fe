// Comparison, logic and selection on the CPU. Conditions are computed as 0 and 1 of the operands' type.
#include "tutti/backends/contract/compare.h"

#include "tutti/backends/cpu/elementwise.h"

namespace tutti {
namespace {

template <class T, class F>
void compare_with(const Elements<2>& e, const F& holds) {
  if constexpr (std::is_floating_point_v<T>) {
    const batch<T> zero(T{0}), one(T{1});
    elementwise<T>(e, [=](batch<T> a, batch<T> b) { return select(holds(a, b), one, zero); });
  } else {
    elementwise<T>(e, [=](T a, T b) { return static_cast<T>(holds(a, b)); });
  }
}

template <class T>
void run_compare(Compare op, const Elements<2>& e) {
  switch (op) {
    case Compare::eq:
      return compare_with<T>(e, [](auto a, auto b) { return a == b; });
    case Compare::ne:
      return compare_with<T>(e, [](auto a, auto b) {
        if constexpr (std::is_floating_point_v<T>)
          return differ(a, b);
        else
          return a != b;
      });
    case Compare::lt:
      return compare_with<T>(e, [](auto a, auto b) { return a < b; });
    case Compare::le:
      return compare_with<T>(e, [](auto a, auto b) { return a <= b; });
    case Compare::gt:
      return compare_with<T>(e, [](auto a, auto b) { return a > b; });
    case Compare::ge:
      return compare_with<T>(e, [](auto a, auto b) { return a >= b; });
  }
}

}  // namespace

template <>
void kernel::compare::run<Here>(Compare op, const Elements<2>& e) {
  for_compute(e.dtype[0], [&]<class T>(T) { run_compare<T>(op, e); });
}

template <>
void kernel::compare_scalar::run<Here>(Compare op, const Elements<1>& e, Number number) {
  for_compute(e.dtype[0], [&]<class T>(T) {
    const T value = number.computed<T>(e.dtype[0]);
    run_compare<T>(op, with_number(e, value, false));
  });
}

template <>
void kernel::logic::run<Here>(Logic op, const Elements<2>& e) {
  using T = uint8_t;
  if (op == Logic::both)
    elementwise<T>(e, [](T a, T b) { return static_cast<T>(a & b); });
  else
    elementwise<T>(e, [](T a, T b) { return static_cast<T>(a | b); });
}

template <>
void kernel::where::run<Here>(const Elements<3>& e) {
  for_compute(e.out_dtype, [&]<class T>(T) {
    if constexpr (std::is_floating_point_v<T>)
      elementwise<T>(e, [](batch<T> c, batch<T> a, batch<T> b) { return select(c == batch<T>(T{0}), b, a); });
    else
      elementwise<T>(e, [](T c, T a, T b) { return c ? a : b; });
  });
}

template <>
void kernel::masked_fill::run<Here>(const Elements<2>& e, Number value, bool where_true) {
  for_compute(e.out_dtype, [&]<class T>(T) {
    const T v = value.computed<T>(e.out_dtype);
    if constexpr (std::is_floating_point_v<T>) {
      const batch<T> fill(v), zero(T{0});
      if (where_true)
        elementwise<T>(e, [=](batch<T> x, batch<T> m) { return select(m == zero, x, fill); });
      else
        elementwise<T>(e, [=](batch<T> x, batch<T> m) { return select(m == zero, fill, x); });
    } else {
      elementwise<T>(e, [=](T x, T m) { return (m != 0) == where_true ? v : x; });
    }
  });
}

}  // namespace tutti
