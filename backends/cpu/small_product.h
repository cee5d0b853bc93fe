// For kernel files only: C += A B on blocks that lie in the caches, register-tiled: rows of B in whole vectors (the
// caller pads them), elements of A broadcast.
#pragma once
#include <utility>

#include "tutti/backends/cpu/simd.h"

namespace tutti {
namespace {

/// f(integral_constant 0) ... f(integral_constant N - 1), unrolled whatever the optimisation level.
template <int N, class F>
TUTTI_INLINE void unroll(F&& f) {
  [&]<int... I>(std::integer_sequence<int, I...>) __attribute__((always_inline)) {
    (f(std::integral_constant<int, I>{}), ...);
  }
  (std::make_integer_sequence<int, N>{});
}

/// Blocks of a product: a[m, k] at a + m * a_row + k * a_col; b and c have contiguous rows.
template <class T>
struct Blocks {
  const T* a;
  int64_t a_row, a_col;
  const T* b;
  int64_t b_row;
  T* c;
  int64_t c_row;
};

#if defined(__AVX512F__) || defined(__aarch64__)
inline constexpr int widest_panel = 4;  // 32 registers
constexpr int tile_rows(int vectors) { return vectors == 4 ? 6 : vectors == 3 ? 8 : vectors == 2 ? 12 : 16; }
#else
inline constexpr int widest_panel = 2;  // 16 registers
constexpr int tile_rows(int vectors) { return vectors == 2 ? 6 : 12; }
#endif

/// M rows of C, N vectors wide, held in registers over the whole inner dimension.
template <int M, int N, class T>
void product_tile(int64_t depth, const Blocks<T>& x) {
  constexpr int64_t L = lanes<T>;
  batch<T> acc[M][N];
  unroll<M>([&](auto i) __attribute__((always_inline)) {
    unroll<N>([&](auto j)
                  __attribute__((always_inline)) { acc[i][j] = batch<T>::load_unaligned(x.c + i * x.c_row + j * L); });
  });
  const T *a = x.a, *b = x.b;
  for (int64_t k = 0; k < depth; ++k) {
    batch<T> row[N];
    unroll<N>([&](auto j) __attribute__((always_inline)) { row[j] = batch<T>::load_unaligned(b + j * L); });
    unroll<M>([&](auto i) __attribute__((always_inline)) {
      const batch<T> value(a[i * x.a_row]);
      unroll<N>([&](auto j) __attribute__((always_inline)) { acc[i][j] = multiply_add(value, row[j], acc[i][j]); });
    });
    a += x.a_col;
    b += x.b_row;
  }
  unroll<M>([&](auto i) __attribute__((always_inline)) {
    unroll<N>([&](auto j) __attribute__((always_inline)) { acc[i][j].store_unaligned(x.c + i * x.c_row + j * L); });
  });
}

}  // namespace
}  // namespace tutti
