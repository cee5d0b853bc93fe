// Element types, and the half-precision numbers with their conversions.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tutti/core/inline.h"

#pragma GCC visibility push(default)
namespace tutti {

enum class DType : uint8_t { float32, float64, bfloat16, float16, int64, int32, uint8, boolean };

/// The float that rounds to a shorter type just as d does: one that d is not equal to is cut off, its last bit set.
/// (The nearest float may lie half way between two short numbers where d does not: that would be rounding twice.)
TUTTI_INLINE float rounded_to_odd(double d) {
  const float f = static_cast<float>(d);
  const auto back = static_cast<double>(f);
  const uint32_t inexact = back < d || back > d ? 1 : 0;
  const uint32_t away = (back < 0 ? -back : back) > (d < 0 ? -d : d) ? 1 : 0;
  return std::bit_cast<float>((std::bit_cast<uint32_t>(f) - away) | inexact);
}
/// The same of an integer: a double holds those below 2^53; of longer ones it holds all but the last 11 bits.
TUTTI_INLINE float rounded_to_odd(int64_t i) {
  const int64_t cut = (i >> 11) | ((i & 0x7ff) != 0 ? 1 : 0);
  const bool exact = i < int64_t{1} << 53 && i > -(int64_t{1} << 53);
  return rounded_to_odd(exact ? static_cast<double>(i) : static_cast<double>(cut) * 2048);
}

/// The upper half of a float32. Stored, never computed with: kernels load and store it as float.
struct bfloat16 {
  uint16_t bits;
  TUTTI_INLINE explicit operator float() const { return std::bit_cast<float>(uint32_t{bits} << 16); }
  /// Round to nearest even; every NaN becomes one quiet NaN.
  TUTTI_INLINE static bfloat16 from(float f) {
    const auto u = std::bit_cast<uint32_t>(f);
    const auto rounded = static_cast<uint16_t>((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
    return bfloat16{f != f ? uint16_t{0x7fc0} : rounded};
  }
  TUTTI_INLINE static bfloat16 from(double d) { return from(rounded_to_odd(d)); }
  TUTTI_INLINE static bfloat16 from(int64_t i) { return from(rounded_to_odd(i)); }
};

/// IEEE binary16. Stored, never computed with. The conversions are branch-free, so that loops over them vectorise.
struct float16 {
  uint16_t bits;
  TUTTI_INLINE explicit operator float() const {
    const uint32_t sign = uint32_t{bits & 0x8000u} << 16, magnitude = bits & 0x7fffu;
    // Shift exponent and mantissa into place and rescale by 2^112: exact for normal and subnormal numbers alike.
    const float scaled = std::bit_cast<float>(magnitude << 13) * std::bit_cast<float>(uint32_t{(254 - 15) << 23});
    const uint32_t special = std::bit_cast<uint32_t>(scaled) | 0x7f800000u | (magnitude << 13);  // infinity and NaN
    const uint32_t value = magnitude >= 0x7c00u ? special : std::bit_cast<uint32_t>(scaled);
    return std::bit_cast<float>(
        sign | (magnitude > 0x7c00u ? value | 0x7fc00000u : value & (magnitude == 0x7c00u ? 0x7f800000u : ~0u)));
  }
  /// Round to nearest even; overflow to infinity; subnormals kept.
  TUTTI_INLINE static float16 from(float f) {
    const uint32_t u = std::bit_cast<uint32_t>(f), sign = (u >> 16) & 0x8000u, a = u & 0x7fffffffu;
    // Below 2^-14 the sum with 0.5 leaves the rounded subnormal in the low bits.
    const uint32_t small = std::bit_cast<uint32_t>(std::bit_cast<float>(a) + 0.5f) - 0x3f000000u;
    const uint32_t normal = (a - (112u << 23) + 0xfffu + ((a >> 13) & 1u)) >> 13;
    const uint32_t finite = a < 0x38800000u ? small : normal;
    const uint32_t value = a > 0x7f800000u ? 0x7e00u : a >= 0x477ff000u ? 0x7c00u : finite;
    return float16{static_cast<uint16_t>(sign | value)};
  }
  TUTTI_INLINE static float16 from(double d) { return from(rounded_to_odd(d)); }
  TUTTI_INLINE static float16 from(int64_t i) { return from(rounded_to_odd(i)); }
};

/// Bytes of one element.
constexpr size_t size_of(DType t) {
  switch (t) {
    case DType::float64:
    case DType::int64:
      return 8;
    case DType::float32:
    case DType::int32:
      return 4;
    case DType::bfloat16:
    case DType::float16:
      return 2;
    case DType::uint8:
    case DType::boolean:
      return 1;
  }
  return 0;
}

/// "float32", "bool", ...
constexpr const char* name_of(DType t) {
  switch (t) {
    case DType::float32:
      return "float32";
    case DType::float64:
      return "float64";
    case DType::bfloat16:
      return "bfloat16";
    case DType::float16:
      return "float16";
    case DType::int64:
      return "int64";
    case DType::int32:
      return "int32";
    case DType::uint8:
      return "uint8";
    case DType::boolean:
      return "bool";
  }
  return "?";
}

/// float32, float64, bfloat16 or float16: what can carry a gradient.
constexpr bool is_floating(DType t) { return t <= DType::float16; }

template <class T>
constexpr DType dtype_of() = delete;
template <>
constexpr DType dtype_of<float>() {
  return DType::float32;
}
template <>
constexpr DType dtype_of<double>() {
  return DType::float64;
}
template <>
constexpr DType dtype_of<bfloat16>() {
  return DType::bfloat16;
}
template <>
constexpr DType dtype_of<float16>() {
  return DType::float16;
}
template <>
constexpr DType dtype_of<int64_t>() {
  return DType::int64;
}
template <>
constexpr DType dtype_of<int32_t>() {
  return DType::int32;
}
template <>
constexpr DType dtype_of<uint8_t>() {
  return DType::uint8;
}
template <>
constexpr DType dtype_of<bool>() {
  return DType::boolean;
}

/// Calls f with a value-initialised element of the run-time type: the one place that turns a DType into a type.
/// For code outside kernel files (those have narrower versions in their backend's helpers).
template <class F>
decltype(auto) visit(DType t, F&& f) {
  switch (t) {
    case DType::float64:
      return f(double{});
    case DType::bfloat16:
      return f(bfloat16{});
    case DType::float16:
      return f(float16{});
    case DType::int64:
      return f(int64_t{});
    case DType::int32:
      return f(int32_t{});
    case DType::uint8:
      return f(uint8_t{});
    case DType::boolean:
      return f(bool{});
    case DType::float32:
      break;
  }
  return f(float{});
}

}  // namespace tutti
#pragma GCC visibility pop
