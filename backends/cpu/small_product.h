// For kernel files only: C += A B on blocks that lie in the caches, register-tiled: rows of B in whole vectors (the
// caller pads them), elements of A broadcast.
#pragma once
#include "tutti/backends/cpu/simd.h"

namespace tutti {
namespace {

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

// The tile that fills the registers: `vectors` wide and so many rows high, plus the row of B and one element of A.
#if defined(__AVX512F__) || defined(__aarch64__)
inline constexpr int widest_panel = 4;
constexpr int tile_rows(int vectors) { return vectors == 4 ? 6 : vectors == 3 ? 8 : vectors == 2 ? 12 : 16; }
#else
inline constexpr int widest_panel = 2;
constexpr int tile_rows(int vectors) { return vectors == 2 ? 6 : 8; }
#endif

/// M rows of C, N vectors wide, held in registers over the whole inner dimension.
template <int M, int N, bool add, class T>
void product_tile(int64_t depth, const Blocks<T>& x) {
  constexpr int64_t L = lanes<T>;
  batch<T> acc[M][N];
  unroll<M * N>([&](auto i) __attribute__((always_inline)) {
    if constexpr (add)
      acc[i / N][i % N] = batch<T>::load_unaligned(x.c + i / N * x.c_row + i % N * L);
    else
      acc[i / N][i % N] = batch<T>(T(0));
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
  unroll<M * N>([&](auto i) __attribute__((always_inline)) {
    acc[i / N][i % N].store_unaligned(x.c + i / N * x.c_row + i % N * L);
  });
}

/// The tile for what tiles of M rows leave over: a power of two. One of 4 rows keeps the multipliers as busy as one of
/// 12, and 64 rows are 5 x 12 + 4.
constexpr int rest_rows(int m) { return m > 8 ? 8 : m > 4 ? 4 : m / 2; }

/// All rows of a panel: in tiles of M, and what is left in smaller ones.
template <int M, int N, bool add, class T>
TUTTI_INLINE void product_rows(int64_t rows, int64_t depth, Blocks<T>& x) {
  for (; rows >= M; rows -= M) {
    product_tile<M, N, add>(depth, x);
    x.a += M * x.a_row;
    x.c += M * x.c_row;
  }
  if constexpr (M > 1) {
    if (rows > 0) product_rows<rest_rows(M), N, add>(rows, depth, x);
  }
}

template <int N, bool add, class T>
void product_panel(int64_t rows, int64_t depth, Blocks<T> x) {
  product_rows<tile_rows(N), N, add>(rows, depth, x);
}

/// C = A B, or C += A B: `rows` rows of C, `vectors` vectors wide.
template <bool add, class T>
void product(int64_t rows, int64_t vectors, int64_t depth, Blocks<T> x) {
  for (; vectors >= widest_panel; vectors -= widest_panel) {
    product_panel<widest_panel, add>(rows, depth, x);
    x.b += widest_panel * lanes<T>;
    x.c += widest_panel * lanes<T>;
  }
  if constexpr (widest_panel > 3)
    if (vectors == 3) return product_panel<3, add>(rows, depth, x);
  if constexpr (widest_panel > 2)
    if (vectors == 2) return product_panel<2, add>(rows, depth, x);
  if (vectors == 1) product_panel<1, add>(rows, depth, x);
}

/// The same where an element of A that is 0 hides what is in its row of B, even infinity and NaN. Slow.
template <bool add, class T>
void product_hiding(int64_t rows, int64_t vectors, int64_t depth, const Blocks<T>& x) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < vectors * lanes<T>; j += lanes<T>) {
      T* c = x.c + i * x.c_row + j;
      batch<T> sum = add ? batch<T>::load_unaligned(c) : batch<T>(T(0));
      for (int64_t k = 0; k < depth; ++k) {
        const T value = x.a[i * x.a_row + k * x.a_col];
        if (value != 0) sum = multiply_add(batch<T>(value), batch<T>::load_unaligned(x.b + k * x.b_row + j), sum);
      }
      sum.store_unaligned(c);
    }
}

}  // namespace
}  // namespace tutti
