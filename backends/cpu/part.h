// For kernel files: parts of a vector, and all its lanes made one.
#pragma once
#include "tutti/backends/cpu/simd.h"

namespace tutti {
namespace {

/// The lanes moved down by `By`, the first ones to the end.
template <int By, class B>
TUTTI_INLINE B rotated(const B& b) {
  return [&]<int... I>(std::integer_sequence<int, I...>) __attribute__((always_inline)) {
    const typename B::register_type r = b;
    return B(__builtin_shufflevector(r, r, (I + By) % static_cast<int>(B::size)...));
  }
  (std::make_integer_sequence<int, static_cast<int>(B::size)>{});
}
/// f of all lanes in a tree: each with the one half a vector on, then a quarter on, and so on.
template <class B, class F>
TUTTI_INLINE auto combine_lanes(B b, const F& f) {
  constexpr int n = static_cast<int>(B::size);
  if constexpr (n >= 16) b = f(b, rotated<8>(b));
  if constexpr (n >= 8) b = f(b, rotated<4>(b));
  if constexpr (n >= 4) b = f(b, rotated<2>(b));
  return f(b, rotated<1>(b)).get(0);
}
template <class B>
TUTTI_INLINE auto max_lanes(const B& b) {
  return combine_lanes(b, [](const B& x, const B& y) { return xsimd::max(x, y); });
}
/// True in the first n lanes.
template <class C>
TUTTI_INLINE auto first_lanes(int64_t n) {
  alignas(64) static constexpr C number[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  return batch<C>::load_aligned(number) < batch<C>(static_cast<C>(n));
}
/// The n < lanes elements from p on, and `fill` in the other lanes; no memory beyond them is read.
template <class C>
TUTTI_INLINE batch<C> load_part(const C* p, int64_t n, C fill) {
#if defined(__AVX512F__)
  if constexpr (sizeof(C) == 4)
    return _mm512_mask_loadu_ps(_mm512_set1_ps(fill), static_cast<__mmask16>((1u << n) - 1), p);
  else
    return _mm512_mask_loadu_pd(_mm512_set1_pd(fill), static_cast<__mmask8>((1u << n) - 1), p);
#elif defined(__AVX2__)
  const auto present = first_lanes<C>(n);
  if constexpr (sizeof(C) == 4)
    return xsimd::select(present, batch<C>(_mm256_maskload_ps(p, _mm256_castps_si256(present))), batch<C>(fill));
  else
    return xsimd::select(present, batch<C>(_mm256_maskload_pd(p, _mm256_castpd_si256(present))), batch<C>(fill));
#else
  alignas(64) C v[lanes<C>];
  for (int64_t i = 0; i < lanes<C>; ++i) v[i] = i < n ? p[i] : fill;
  return batch<C>::load_aligned(v);
#endif
}
/// The first n < lanes lanes to p; no memory beyond them is written.
template <class C>
TUTTI_INLINE void store_part(C* p, int64_t n, const batch<C>& b) {
#if defined(__AVX512F__)
  if constexpr (sizeof(C) == 4)
    _mm512_mask_storeu_ps(p, static_cast<__mmask16>((1u << n) - 1), b);
  else
    _mm512_mask_storeu_pd(p, static_cast<__mmask8>((1u << n) - 1), b);
#elif defined(__AVX2__)
  if constexpr (sizeof(C) == 4)
    _mm256_maskstore_ps(p, _mm256_castps_si256(first_lanes<C>(n)), b);
  else
    _mm256_maskstore_pd(p, _mm256_castpd_si256(first_lanes<C>(n)), b);
#else
  alignas(64) C v[lanes<C>];
  b.store_aligned(v);
  for (int64_t i = 0; i < n; ++i) p[i] = v[i];
#endif
}

}  // namespace
}  // namespace tutti
