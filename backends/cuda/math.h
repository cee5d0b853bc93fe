// For kernel files: elementary functions of float and double. CUDA's own are accurate to a few units in the last place
// over the whole range; here are those that it lacks.
#pragma once
#include <cmath>

#include "tutti/backends/cuda/device.h"

namespace tutti {
namespace {

/// x limited to [low, high]; NaN stays NaN.
template <class T>
__device__ T limit(T x, T low, T high) {
  const T least = low > x ? low : x;
  return high < least ? high : least;
}

/// 1 / (1 + e^-x): full relative accuracy for negative x too, as nothing overflows.
template <class T>
__device__ T logistic(T x) {
  const T e = std::exp(-std::abs(x));
  return (x < 0 ? e : T(1)) / (T(1) + e);
}

/// The normal distribution's Phi(x), whose tail keeps its relative accuracy.
template <class T>
__device__ T normal_cdf(T x) {
  if constexpr (sizeof(T) == 4)
    return normcdff(x);
  else
    return normcdf(x);
}
/// Beyond it Phi(-x) is 0.
template <class T>
inline constexpr T normal_end = T(sizeof(T) == 4 ? 16 : 40);

/// x Phi(x).
template <class T>
__device__ T gelu_erf(T x) {
  const T y = -normal_end<T> > x ? -normal_end<T> : x;  // 0, not NaN, at -infinity
  return y * normal_cdf(y);
}
/// Phi(x) + x phi(x).
template <class T>
__device__ T gelu_erf_slope(T x) {
  const T y = limit(x, -normal_end<T>, normal_end<T>);
  return std::fma(y * T(0.39894228040143267794), std::exp(y * y * T(-0.5)), normal_cdf(y));
}

/// x sigmoid(2 z), z = sqrt(2 / pi) (x + 0.044715 x³).
template <class T>
__device__ T gelu_logistic(T x) {
  const T y = T(-40) > x ? T(-40) : x;
  return y * logistic(T(1.5957691216057308) * y * std::fma(y * y, T(0.044715), T(1)));
}
template <class T>
__device__ T gelu_logistic_slope(T x) {
  const T y = limit(x, T(-40), T(40)), square = y * y;
  const T s = logistic(T(1.5957691216057308) * y * std::fma(square, T(0.044715), T(1)));
  const T slope = T(1.5957691216057308) * std::fma(square, T(3 * 0.044715), T(1));
  return std::fma(y * s * (T(1) - s), slope, s);
}

}  // namespace
}  // namespace tutti
