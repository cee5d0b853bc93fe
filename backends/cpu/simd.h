// For kernel files only: `Here` (the target that this file is being compiled for), batch<T>, loads and stores that
// widen half types, and the few operations that differ between versions of xsimd. Nothing here may be shared between
// instruction sets, hence the unnamed namespace and TUTTI_INLINE.
#pragma once
#include <type_traits>
#include <utility>

#include <xsimd/xsimd.hpp>

#include "tutti/backends/contract/kernel.h"
#include "tutti/core/dtype.h"
#include "tutti/core/parallel.h"

namespace tutti {

using Here = target::TUTTI_TARGET;  // defined by tutti_add_kernels (CMake)

// The library's walk and a kernel outside it must agree on the lanes, or one reads what the other has not written.
static_assert(
    sizeof(xsimd::batch<float>) == Here::register_bytes && sizeof(xsimd::batch<double>) == Here::register_bytes,
    "compiled with flags of another instruction set than TUTTI_TARGET: tutti_add_kernels() gives the right ones");

namespace {

template <class T>
using batch = xsimd::batch<T>;
template <class T>
inline constexpr int64_t lanes = static_cast<int64_t>(xsimd::batch<T>::size);

/// The type that elements of T are computed in: float for the half types.
template <class T>
struct Compute {
  using type = T;
};
template <>
struct Compute<bfloat16> {
  using type = float;
};
template <>
struct Compute<float16> {
  using type = float;
};
template <class T>
using compute_t = typename Compute<T>::type;
template <class T>
inline constexpr bool is_half = !std::is_same_v<T, compute_t<T>>;

template <class T>
TUTTI_INLINE compute_t<T> load1(const T* p) {
  return static_cast<compute_t<T>>(*p);
}
template <class T>
TUTTI_INLINE void store1(T* p, compute_t<T> v) {
  if constexpr (is_half<T>)
    *p = T::from(v);
  else
    *p = v;
}
template <class T>
TUTTI_INLINE batch<compute_t<T>> vload(const T* p) {
  if constexpr (is_half<T>) {
    float wide[lanes<float>];
    for (int64_t i = 0; i < lanes<float>; ++i) wide[i] = static_cast<float>(p[i]);
    return batch<float>::load_unaligned(wide);
  } else {
    return batch<T>::load_unaligned(p);
  }
}
template <class T>
TUTTI_INLINE void vstore(T* p, batch<compute_t<T>> v) {
  if constexpr (is_half<T>) {
    float wide[lanes<float>];
    v.store_unaligned(wide);
    for (int64_t i = 0; i < lanes<float>; ++i) p[i] = T::from(wide[i]);
  } else {
    v.store_unaligned(p);
  }
}

/// a * b + c, rounded once where the instruction set can (all but sse2). xsimd 8.1 lacks it for AVX-512: its
/// xsimd::fma multiplies and adds there.
template <class B>
TUTTI_INLINE B multiply_add(const B& a, const B& b, const B& c) {
#ifdef __AVX512F__
  if constexpr (std::is_same_v<typename B::value_type, float>)
    return _mm512_fmadd_ps(a, b, c);
  else
    return _mm512_fmadd_pd(a, b, c);
#else
  return xsimd::fma(a, b, c);
#endif
}

/// a != b, true where either is NaN: the operator of some versions of xsimd is false there on AVX.
template <class B>
TUTTI_INLINE auto differ(const B& a, const B& b) {
  return !(a == b);
}
template <class B>
TUTTI_INLINE auto sum_lanes(const B& b) {
#if XSIMD_VERSION_MAJOR >= 9
  return xsimd::reduce_add(b);
#else
  return xsimd::hadd(b);
#endif
}

/// f(integral_constant 0) ... f(integral_constant N - 1), unrolled whatever the optimisation level.
template <int N, class F>
TUTTI_INLINE void unroll(F&& f) {
  [&]<int... I>(std::integer_sequence<int, I...>) __attribute__((always_inline)) {
    (f(std::integral_constant<int, I>{}), ...);
  }
  (std::make_integer_sequence<int, N>{});
}

/// f(T{}) for the four floating dtypes; ops have checked the dtype before.
template <class F>
TUTTI_INLINE void for_float(DType t, F&& f) {
  switch (t) {
    case DType::float32:
      return f(float{});
    case DType::float64:
      return f(double{});
    case DType::bfloat16:
      return f(bfloat16{});
    case DType::float16:
      return f(float16{});
    default:
      __builtin_unreachable();
  }
}
/// f(T{}) for every dtype; bool is uint8_t.
template <class F>
TUTTI_INLINE void for_any(DType t, F&& f) {
  switch (t) {
    case DType::int64:
      return f(int64_t{});
    case DType::int32:
      return f(int32_t{});
    case DType::uint8:
    case DType::boolean:
      return f(uint8_t{});
    default:
      return for_float(t, f);
  }
}

}  // namespace
}  // namespace tutti
