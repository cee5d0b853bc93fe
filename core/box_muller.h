// Two normal numbers from two uniform ones, as pure functions shared by the kernels of every backend. Only +, -, *, /
// and sqrt, never fused, so that every instruction set gives the same bits.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "tutti/core/inline.h"

namespace tutti {

/// A word as a number in (0, 1].
TUTTI_INLINE float uniform_above_zero(uint32_t word) {
  return static_cast<float>(static_cast<int32_t>(word >> 1)) * 0x1p-31f + 0x1p-32f;
}
/// Two words as a number in (0, 1].
TUTTI_INLINE double uniform_above_zero(uint32_t high, uint32_t low) {
  return static_cast<double>(static_cast<int64_t>((uint64_t{high} << 32 | low) >> 12)) * 0x1p-52 + 0x1p-53;
}

/// ln u for normal u > 0: u = 2^e m with m in [0.71, 1.42), ln m = 2 artanh s with s = (m - 1) / (m + 1), by its
/// series.
TUTTI_INLINE float log_of(float u) {
  const uint32_t bits = std::bit_cast<uint32_t>(u), shifted = bits - 0x3f3504f3u;  // the bits of sqrt(1/2)
  const auto e = static_cast<float>(static_cast<int32_t>(shifted) >> 23);
  const float m = std::bit_cast<float>((shifted & 0x007fffffu) + 0x3f3504f3u);
  const float s = (m - 1) / (m + 1), t = s * s;
  const float series = ((0.14285714f * t + 0.2f) * t + 0.33333333f) * t + 1;
  return e * 0.69314718f + 2 * s * series;
}
TUTTI_INLINE double log_of(double u) {
  const uint64_t bits = std::bit_cast<uint64_t>(u), shifted = bits - 0x3fe6a09e667f3bcdull;
  // The exponent is small: 32 bits of it convert on every instruction set.
  const auto e = static_cast<double>(static_cast<int32_t>(static_cast<int64_t>(shifted) >> 52));
  const double m = std::bit_cast<double>((shifted & 0x000fffffffffffffull) + 0x3fe6a09e667f3bcdull);
  const double s = (m - 1) / (m + 1), t = s * s;
  double series = 0;
  TUTTI_UNROLL
  for (int k = 23; k >= 1; k -= 2) series = series * t + 1.0 / k;
  return e * 0.693147180559945309 + 2 * s * series;
}

/// cos and sin of 2 pi u, u in [0, 1]: quarter turns are split off exactly, the rest is Taylor's series to pi/4.
template <class T>
TUTTI_INLINE void cos_sin_of_turn(T u, T& c, T& s) {
  constexpr int last = sizeof(T) == 4 ? 10 : 18;
  const T quarters = u * 4;
  const auto q = static_cast<int32_t>(quarters + T(0.5));
  const T a = (quarters - static_cast<T>(q)) * T(1.57079632679489661923), t = -a * a;
  T even = 1, odd = 1;
  TUTTI_UNROLL
  for (int k = last; k >= 2; k -= 2) {
    even = even * t * T(1.0 / ((k - 1) * k)) + 1;
    odd = odd * t * T(1.0 / (k * (k + 1))) + 1;
  }
  odd = odd * a;
  // Odd quarters swap the two; the signs go round. In integer arithmetic, so that loops over this vectorise.
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  constexpr int top = sizeof(T) * 8 - 1;
  const auto quarter = static_cast<Bits>(q), swap = Bits{0} - (quarter & 1);
  const auto a0 = std::bit_cast<Bits>(even), b0 = std::bit_cast<Bits>(odd), differ = (a0 ^ b0) & swap;
  c = std::bit_cast<T>(a0 ^ differ ^ ((quarter + 1) >> 1 & 1) << top);
  s = std::bit_cast<T>(b0 ^ differ ^ (quarter >> 1 & 1) << top);
}

/// Two independent standard normal numbers from u in (0, 1] and v in [0, 1]: sqrt(-2 ln u) (cos, sin)(2 pi v).
template <class T>
TUTTI_INLINE void box_muller(T u, T v, T& first, T& second) {
  const T radius = std::sqrt(T(-2) * log_of(u));
  T c, s;
  cos_sin_of_turn(v, c, s);
  first = radius * c;
  second = radius * s;
}

}  // namespace tutti
