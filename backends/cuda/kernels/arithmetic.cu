// Binary arithmetic.
#include "tutti/backends/contract/arithmetic.h"

#include "tutti/backends/cuda/elementwise.h"

namespace tutti {
namespace {

// Integers wrap around: computed without sign.
struct Sum {
  template <class T>
  __device__ T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) + static_cast<std::make_unsigned_t<T>>(b));
    else
      return a + b;
  }
};
struct Difference {
  template <class T>
  __device__ T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) - static_cast<std::make_unsigned_t<T>>(b));
    else
      return a - b;
  }
};
struct Times {
  template <class T>
  __device__ T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) * static_cast<std::make_unsigned_t<T>>(b));
    else
      return a * b;
  }
};
struct Quotient {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a / b;
  }
};
/// NaN if either is.
struct Maximum {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a > b || a != a ? a : b;
  }
};
struct Minimum {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a < b || a != a ? a : b;
  }
};

/// use(f) with the function of `op` on elements of T.
template <class T, class Use>
void with_function(Arithmetic op, Use&& use) {
  switch (op) {
    case Arithmetic::add:
      return use(Sum{});
    case Arithmetic::sub:
      return use(Difference{});
    case Arithmetic::mul:
      return use(Times{});
    case Arithmetic::div:
      if constexpr (!std::is_integral_v<T>) use(Quotient{});  // ops refuse it for integers
      return;
    case Arithmetic::maximum:
      return use(Maximum{});
    case Arithmetic::minimum:
      return use(Minimum{});
  }
}

/// The gradient of an extremum with respect to a: half where both are equal.
template <bool largest>
struct ExtremumGradient {
  template <class T>
  __device__ T operator()(T dy, T a, T b) const {
    return a == b ? T(0.5) * dy : (largest ? a < b : a > b) ? T(0) : dy;
  }
};
struct QuotientGradient {
  template <class T>
  __device__ T operator()(T dy, T y, T b) const {
    return -dy * (y / b);
  }
};

}  // namespace

template <>
void kernel::arithmetic::run<Here>(Arithmetic op, const Elements<2>& e) {
  for_any(e.out_dtype, [&]<class T>(T) {
    with_function<compute_t<T>>(op, [&]<class F>(F f) { elementwise<T, T, T>(e, f); });
  });
}

template <>
void kernel::arithmetic_scalar::run<Here>(Arithmetic op, const Elements<1>& e, Number number, bool number_first) {
  for_any(e.out_dtype, [&]<class T>(T) {
    using C = compute_t<T>;
    with_function<C>(op, [&]<class F>(F f) {
      elementwise<T, T>(e, WithNumber<F, C>{f, number.as<C>(), number_first});
    });
  });
}

template <>
void kernel::extremum_backward::run<Here>(Arithmetic op, const Elements<3>& e) {
  for_float(e.out_dtype, [&]<class T>(T) {
    if (op == Arithmetic::maximum)
      elementwise<T, T, T, T>(e, ExtremumGradient<true>{});
    else
      elementwise<T, T, T, T>(e, ExtremumGradient<false>{});
  });
}

template <>
void kernel::div_backward::run<Here>(const Elements<3>& e) {
  for_float(e.out_dtype, [&]<class T>(T) { elementwise<T, T, T, T>(e, QuotientGradient{}); });
}

}  // namespace tutti
