// Powers and limits.
#include "tutti/backends/contract/unary.h"

#include "tutti/backends/cuda/elementwise.h"
#include "tutti/backends/cuda/math.h"

namespace tutti {
namespace {

struct Power {
  template <class T>
  __device__ T operator()(T x, T exponent) const {
    return std::pow(x, exponent);
  }
};
/// x^n by products: the exponents that programs write.
template <int n>
struct WholePower {
  template <class T>
  __device__ T operator()(T x) const {
    if constexpr (n == -1)
      return T(1) / x;
    else if constexpr (n == 1)
      return x;
    else if constexpr (n == 2)
      return x * x;
    else
      return x * x * x;
  }
};

template <class T>
struct Clamp {
  T low, high;
  __device__ T operator()(T x) const {
    if constexpr (std::is_integral_v<T>)
      return x < low ? low : x > high ? high : x;
    else
      return limit(x, low, high);
  }
};
template <class T>
struct ClampGradient {
  T low, high;
  __device__ T operator()(T dy, T x) const { return x >= low && x <= high ? dy : T(0); }
};

}  // namespace

template <>
void kernel::pow::run<Here>(const Elements<2>& e) {
  for_float(e.out_dtype, [&]<class T>(T) { elementwise<T, T, T>(e, Power{}); });
}

template <>
void kernel::pow_scalar::run<Here>(const Elements<1>& e, double exponent) {
  for_float(e.out_dtype, [&]<class T>(T) {
    using C = compute_t<T>;
    if (exponent == 2) return elementwise<T, T>(e, WholePower<2>{});
    if (exponent == 3) return elementwise<T, T>(e, WholePower<3>{});
    if (exponent == 1) return elementwise<T, T>(e, WholePower<1>{});
    if (exponent == -1) return elementwise<T, T>(e, WholePower<-1>{});
    elementwise<T, T>(e, WithNumber<Power, C>{{}, static_cast<C>(exponent), false});
  });
}

template <>
void kernel::clamp::run<Here>(const Elements<1>& e, Number low, Number high) {
  for_any(e.out_dtype, [&]<class T>(T) {
    using C = compute_t<T>;
    elementwise<T, T>(e, Clamp<C>{low.computed<C>(e.out_dtype), high.computed<C>(e.out_dtype)});
  });
}

template <>
void kernel::clamp_backward::run<Here>(const Elements<2>& e, Number low, Number high) {
  for_float(e.out_dtype, [&]<class T>(T) {
    using C = compute_t<T>;
    elementwise<T, T, T>(e, ClampGradient<C>{low.computed<C>(e.out_dtype), high.computed<C>(e.out_dtype)});
  });
}

}  // namespace tutti
