// Binary arithmetic on the CPU.
#include "tutti/backends/contract/arithmetic.h"

#include "tutti/backends/cpu/elementwise.h"

namespace tutti {
namespace {

/// Integers wrap around: computed without sign.
template <class T, class F>
TUTTI_INLINE T wrap(T a, T b, const F& f) {
  using U = std::make_unsigned_t<T>;
  return static_cast<T>(f(static_cast<U>(a), static_cast<U>(b)));
}

template <class T>
void run_op(Arithmetic op, const Elements<2>& e) {
  if constexpr (std::is_floating_point_v<T>) {
    using B = batch<T>;
    switch (op) {
      case Arithmetic::add:
        return elementwise<T>(e, [](B a, B b) { return a + b; });
      case Arithmetic::sub:
        return elementwise<T>(e, [](B a, B b) { return a - b; });
      case Arithmetic::mul:
        return elementwise<T>(e, [](B a, B b) { return a * b; });
      case Arithmetic::div:
        return elementwise<T>(e, [](B a, B b) { return a / b; });
      case Arithmetic::maximum:
        return elementwise<T>(e, [](B a, B b) { return select(a > b, a, select(a == a, b, a)); });
      case Arithmetic::minimum:
        return elementwise<T>(e, [](B a, B b) { return select(a < b, a, select(a == a, b, a)); });
    }
  } else {
    switch (op) {
      case Arithmetic::add:
        return elementwise<T>(e, [](T a, T b) { return wrap(a, b, [](auto x, auto y) { return x + y; }); });
      case Arithmetic::sub:
        return elementwise<T>(e, [](T a, T b) { return wrap(a, b, [](auto x, auto y) { return x - y; }); });
      case Arithmetic::mul:
        return elementwise<T>(e, [](T a, T b) { return wrap(a, b, [](auto x, auto y) { return x * y; }); });
      case Arithmetic::div:
        break;  // ops refuse it
      case Arithmetic::maximum:
        return elementwise<T>(e, [](T a, T b) { return a > b ? a : b; });
      case Arithmetic::minimum:
        return elementwise<T>(e, [](T a, T b) { return a < b ? a : b; });
    }
  }
}

}  // namespace

template <>
void kernel::arithmetic::run<Here>(Arithmetic op, const Elements<2>& e) {
  for_compute(e.out_dtype, [&]<class T>(T) { run_op<T>(op, e); });
}

template <>
void kernel::arithmetic_scalar::run<Here>(Arithmetic op, const Elements<1>& e, Number number, bool number_first) {
  for_compute(e.out_dtype, [&]<class T>(T) {
    const T value = number.as<T>();
    run_op<T>(op, with_number(e, value, number_first));
  });
}

template <>
void kernel::extremum_backward::run<Here>(Arithmetic op, const Elements<3>& e) {
  for_real(e.out_dtype, [&]<class T>(T) {
    using B = batch<T>;
    const B zero(T{0}), half(T{0.5});
    if (op == Arithmetic::maximum)
      elementwise<T>(e, [=](B dy, B a, B b) { return select(a == b, half * dy, select(a < b, zero, dy)); });
    else
      elementwise<T>(e, [=](B dy, B a, B b) { return select(a == b, half * dy, select(a > b, zero, dy)); });
  });
}

template <>
void kernel::div_backward::run<Here>(const Elements<3>& e) {
  for_real(e.out_dtype, [&]<class T>(T) {
    using B = batch<T>;
    elementwise<T>(e, [](B dy, B y, B b) { return -dy * (y / b); });
  });
}

}  // namespace tutti
