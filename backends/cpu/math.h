// For kernel files only: elementary functions on batch<float> and batch<double>, to about 2 units in the last place
// (the tails of gelu to 1e-5).
// xsimd's own where they are good; not its exp (results below 2^-126 and the last before infinity are wrong), log
// (subnormal doubles) and erfc (its tail).
#pragma once
#include <cmath>

#include "tutti/backends/cpu/simd.h"

namespace tutti {
namespace {

// exp(x) = 2^n exp(r) with n = round(x / ln 2). ln 2 has two parts, the first short enough that n times it is exact.
template <class T>
struct ExpConstants;
template <>
struct ExpConstants<float> {
  using Bits = int32_t;
  static constexpr int mantissa = 23, bias = 127;
  static constexpr float magic = 0x1.8p23f;  // adding it leaves an integer in the low bits
  static constexpr float ln2_high = 0.693359375f, ln2_low = -2.12194440e-4f;
  static constexpr float polynomial[] = {1.9875691500e-4f, 1.3981999507e-3f, 8.3334519073e-3f,
                                         4.1665795894e-2f, 1.6666665459e-1f, 5.0000001201e-1f};  // Cephes, expf
  static constexpr float low = -104, high = 89;                  // exp is 0 below, infinite above
  static constexpr float normal_low = -88, normal_high = 88.7f;  // n = -127 and 128
};
template <>
struct ExpConstants<double> {
  using Bits = int64_t;
  static constexpr int mantissa = 52, bias = 1023;
  static constexpr double magic = 0x1.8p52;
  static constexpr double ln2_high = 6.93145751953125e-1, ln2_low = 1.42860682030941723212e-6;
  static constexpr double polynomial[] = {1. / 6227020800, 1. / 479001600, 1. / 39916800, 1. / 3628800,
                                          1. / 362880,     1. / 40320,     1. / 5040,     1. / 720,
                                          1. / 120,        1. / 24,        1. / 6,        1. / 2};  // Taylor
  static constexpr double low = -746, high = 710;
  static constexpr double normal_low = -709, normal_high = 709.7;
};

/// The polynomial with these coefficients, the highest first. Unrolled by hand: GCC keeps a loop at -O2, which took
/// half of gelu's time.
template <class T, size_t N>
TUTTI_INLINE batch<T> horner(batch<T> x, const T (&coefficients)[N]) {
  batch<T> p(coefficients[0]);
  unroll<static_cast<int>(N) - 1>([&](auto i) __attribute__((always_inline)) {
    p = multiply_add(p, x, batch<T>(coefficients[i + 1]));
  });
  return p;
}

/// 2^n from n + magic.
template <class T>
TUTTI_INLINE batch<T> power_of_two(batch<T> n_magic) {
  using C = ExpConstants<T>;
  using Bits = batch<typename C::Bits>;
  const Bits bits =
      (xsimd::bitwise_cast<Bits>(n_magic) << C::mantissa) + Bits(static_cast<typename C::Bits>(C::bias) << C::mantissa);
  return xsimd::bitwise_cast<batch<T>>(bits);
}

/// exp(x - n ln 2), n = round(x / ln 2).
template <class T>
TUTTI_INLINE batch<T> exp_reduced(batch<T> x, batch<T> n) {
  using C = ExpConstants<T>;
  using B = batch<T>;
  const B r = multiply_add(n, B(-C::ln2_low), multiply_add(n, B(-C::ln2_high), x));
  return multiply_add(horner(r, C::polynomial), r * r, r) + B(T{1});
}

/// x limited to [low, high]; NaN stays NaN (the second operand of min and max is the answer then).
template <class T>
TUTTI_INLINE batch<T> limit(batch<T> x, T low, T high) {
  return xsimd::min(batch<T>(high), xsimd::max(batch<T>(low), x));
}

/// e^x over the whole range, subnormal results included.
template <class T>
TUTTI_INLINE batch<T> exp_full(batch<T> x) {
  using C = ExpConstants<T>;
  using B = batch<T>;
  const B magic(C::magic), y = limit(x, C::low, C::high);
  const B n = multiply_add(y, B(T(1.44269504088896340736)), magic) - magic;
  const B half = multiply_add(n, B(T{0.5}), magic);  // in two steps, so that neither overflows
  return exp_reduced(y, n) * power_of_two<T>(half) * power_of_two<T>((n - (half - magic)) + magic);
}

/// e^x where results below the smallest normal number may be 0 and the last before infinity infinite: one scaling less.
template <class T>
TUTTI_INLINE batch<T> exp_normal(batch<T> x) {
  using C = ExpConstants<T>;
  using B = batch<T>;
  const B magic(C::magic), y = limit(x, C::normal_low, C::normal_high);
  const B shifted = multiply_add(y, B(T(1.44269504088896340736)), magic);
  return exp_reduced(y, shifted - magic) * power_of_two<T>(shifted);
}

template <class T>
TUTTI_INLINE batch<T> log_full(batch<T> x) {
  if constexpr (sizeof(T) == 8) {  // xsimd's is wrong below 2^-1022
    using B = batch<T>;
    const auto small = x < B(T(0x1p-1022));
    const B y = xsimd::log(xsimd::select(small, x * B(T(0x1p54)), x));
    return xsimd::select(small, y - B(T(37.429947750237048)), y);  // 54 ln 2
  } else {
    return xsimd::log(x);
  }
}

/// 1 / (1 + e^-x): full relative accuracy for negative x too.
template <class T>
TUTTI_INLINE batch<T> logistic(batch<T> x) {
  using B = batch<T>;
  return B(T{1}) / (B(T{1}) + exp_normal<T>(-x));
}

/// f of every lane, for the few functions that have no vector form.
template <class T, class F>
TUTTI_INLINE batch<T> each_lane(batch<T> x, const F& f) {
  T v[batch<T>::size];
  x.store_unaligned(v);
  for (T& value : v) value = f(value);
  return batch<T>::load_unaligned(v);
}

/// The normal distribution at x: its density times sqrt(2 pi), e^(-x²/2), and the upper tail at |x|, Phi(-|x|).
template <class T>
struct Normal {
  batch<T> density, tail;
};
/// float32: Phi(-t) = e^(-t²/2) R(t), R(t) = u P(u) with u = 1 / (1 + 0.35 t): P is fitted to a relative error of
/// 3.2e-8 for 0 <= t <= 14.2. Rounding t² costs up to t²/2 units in the last place of the tail: 5e-6 at t = 13.
TUTTI_INLINE Normal<float> normal(batch<float> x) {
  using B = batch<float>;
  const B t = xsimd::abs(x), square = t * t;
  const B e = exp_normal<float>(square * B(-0.5f));
  const B u = B(1.f) / multiply_add(t, B(0.35f), B(1.f));
  constexpr float p[] = {-0.029151952f, 0.14400145f, -0.2557768f, 0.15924692f, -0.023160947f,
                         0.10553012f,   0.11982713f, 0.13986269f, 0.13962136f};
  return {e, e * (horner(u, p) * u)};
}
TUTTI_INLINE Normal<double> normal(batch<double> x) {
  using B = batch<double>;
  const B t = xsimd::abs(x);
  return {exp_full<double>(t * t * B(-0.5)),
          B(0.5) * each_lane(t, [](double v) { return ::erfc(v * 0.70710678118654752440); })};
}

/// x Phi(x).
template <class T>
TUTTI_INLINE batch<T> gelu_erf(batch<T> x) {
  using B = batch<T>;
  const B y = xsimd::max(B(T(sizeof(T) == 4 ? -14 : -40)), x);  // the product is 0 from there on
  const B tail = normal(y).tail;
  return y * xsimd::select(y < B(T{0}), tail, B(T{1}) - tail);
}
/// f(x) and f'(x), which share most of the work; f(x) has the bits that it has alone.
template <class T>
struct ValueAndSlope {
  batch<T> value, slope;
};
template <class T>
TUTTI_INLINE ValueAndSlope<T> gelu_erf_with_slope(batch<T> x) {
  using B = batch<T>;
  constexpr T far = sizeof(T) == 4 ? 14 : 40;
  const B y = limit(x, -far, far);
  const Normal<T> n = normal(y);
  const B cdf = xsimd::select(y < B(T{0}), n.tail, B(T{1}) - n.tail);
  return {xsimd::max(B(-far), x) * cdf, multiply_add(y * B(T(0.39894228040143267794)), n.density, cdf)};
}

/// Phi(x) + x phi(x).
template <class T>
TUTTI_INLINE batch<T> gelu_erf_slope(batch<T> x) {
  return gelu_erf_with_slope<T>(x).slope;
}

/// x sigmoid(2 z), z = sqrt(2 / pi) (x + 0.044715 x³).
template <class T>
TUTTI_INLINE batch<T> gelu_logistic(batch<T> x) {
  using B = batch<T>;
  const B y = xsimd::max(B(T{-40}), x);
  const B twice = B(T(1.5957691216057308)) * y * multiply_add(y * y, B(T(0.044715)), B(T{1}));
  return y * logistic<T>(twice);
}
template <class T>
TUTTI_INLINE ValueAndSlope<T> gelu_logistic_with_slope(batch<T> x) {
  using B = batch<T>;
  const B y = limit(x, T{-40}, T{40}), square = y * y;
  const B s = logistic<T>(B(T(1.5957691216057308)) * y * multiply_add(square, B(T(0.044715)), B(T{1})));
  const B slope = B(T(1.5957691216057308)) * multiply_add(square, B(T(3 * 0.044715)), B(T{1}));
  return {xsimd::max(B(T{-40}), x) * s, multiply_add(y * s * (B(T{1}) - s), slope, s)};
}

template <class T>
TUTTI_INLINE batch<T> gelu_logistic_slope(batch<T> x) {
  return gelu_logistic_with_slope<T>(x).slope;
}

/// x sigmoid(x).
template <class T>
TUTTI_INLINE batch<T> silu(batch<T> x) {
  const batch<T> y = xsimd::max(batch<T>(T{-1000}), x);  // 0, not NaN, at -infinity
  return y * logistic<T>(y);
}
template <class T>
TUTTI_INLINE ValueAndSlope<T> silu_with_slope(batch<T> x) {
  const batch<T> one(T{1}), y = limit(x, T{-1000}, T{1000}), s = logistic<T>(y);
  return {xsimd::max(batch<T>(T{-1000}), x) * s, s * xsimd::fma(y, one - s, one)};
}
template <class T>
TUTTI_INLINE batch<T> silu_slope(batch<T> x) {
  return silu_with_slope<T>(x).slope;
}

}  // namespace
}  // namespace tutti
