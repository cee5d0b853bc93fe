// The packed, register-tiled product after Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication"
// (2008): panels of a and b are packed so that the innermost loop reads both in order, and a tile of c stays in
// registers for a whole panel.
#include "tutti/backends/cpu/gemm_block.h"

#include "tutti/backends/cpu/simd.h"

namespace tutti::kernel {
namespace {

// A tile of c: rows x (2 vectors). Its accumulators fill 24 of AVX-512's 32 registers, or 12 of 16.
constexpr int vectors = 2;
constexpr int tile_rows = sizeof(batch<float>) == 64 ? 12 : 6;
template <class T>
constexpr int64_t tile_cols = vectors* lanes<T>;
static_assert(gemm_block::max_rows % tile_rows == 0 && gemm_block::max_cols % tile_cols<float> == 0);

/// tile = a_panel b_panel: a_panel holds tile_rows numbers per step of the inner dimension, b_panel tile_cols.
template <class T>
void multiply(int64_t inner, const T* a_panel, const T* b_panel, T* tile) {
  batch<T> sum[tile_rows][vectors];
  unroll<tile_rows>([&](auto i) __attribute__((always_inline)) {
    unroll<vectors>([&](auto j) __attribute__((always_inline)) { sum[i][j] = batch<T>(T{0}); });
  });
  for (int64_t p = 0; p < inner; ++p) {
    batch<T> b[vectors];
    unroll<vectors>([&](auto j)
                        __attribute__((always_inline)) { b[j] = batch<T>::load_aligned(b_panel + j * lanes<T>); });
    unroll<tile_rows>([&](auto i) __attribute__((always_inline)) {
      const batch<T> x(a_panel[i]);
      unroll<vectors>([&](auto j) __attribute__((always_inline)) { sum[i][j] = multiply_add(x, b[j], sum[i][j]); });
    });
    a_panel += tile_rows;
    b_panel += tile_cols<T>;
  }
  unroll<tile_rows>([&](auto i) __attribute__((always_inline)) {
    unroll<vectors>([&](auto j) __attribute__((always_inline)) {
      sum[i][j].store_aligned(tile + i * tile_cols<T> + j * lanes<T>);
    });
  });
}

/// Lines of `width` numbers (the last panel filled up with zeros), panel after panel: to[panel][step][width].
template <int64_t width, class T>
void pack(const T* from, int64_t count, int64_t count_stride, int64_t inner, int64_t inner_stride, T* to) {
  const int64_t whole = count / width * width;
  if (whole < count) {
    T* const last = to + whole * inner;
    for (int64_t i = 0; i < width * inner; ++i) last[i] = T{0};
  }
  if (count_stride == 1) {  // read along the lines
    for (int64_t p = 0; p < inner; ++p, from += inner_stride) {
      for (int64_t i = 0; i < whole; i += width)
        for (int64_t j = 0; j < width; ++j) to[i * inner + p * width + j] = from[i + j];
      for (int64_t i = whole; i < count; ++i) to[whole * inner + p * width + i - whole] = from[i];
    }
  } else {
    for (int64_t i = 0; i < count; ++i) {
      T* const line = to + i / width * width * inner + i % width;
      for (int64_t p = 0; p < inner; ++p) line[p * width] = from[i * count_stride + p * inner_stride];
    }
  }
}

/// What becomes of a tile: it is added to c, or replaces it (with the bias added).
template <class T>
void put(const T* tile, int64_t rows, int64_t cols, T* c, int64_t row_stride, int64_t col_stride, const T* bias,
         bool add) {
  if (cols == tile_cols<T> && col_stride == 1) {
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < tile_cols<T>; j += lanes<T>) {
        T* const to = c + i * row_stride + j;
        auto v = batch<T>::load_aligned(tile + i * tile_cols<T> + j);
        if (add)
          v += batch<T>::load_unaligned(to);
        else if (bias)
          v += batch<T>::load_unaligned(bias + j);
        v.store_unaligned(to);
      }
    return;
  }
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < cols; ++j) {
      T& to = c[i * row_stride + j * col_stride];
      const T v = tile[i * tile_cols<T> + j];
      to = add ? to + v : bias ? v + bias[j] : v;
    }
}

template <class T>
void run_block(const Block& g, T* scratch) {
  constexpr auto least = [](int64_t x, int64_t y) { return x < y ? x : y; };
  const auto* const a = static_cast<const T*>(g.a.data);
  const auto* const b = static_cast<const T*>(g.b.data);
  const auto* const bias = static_cast<const T*>(g.bias);
  auto* const c = static_cast<T*>(g.c.data);
  const int64_t room = least(g.a.cols, gemm_block::max_inner) *
                       least((g.c.cols + tile_cols<T> - 1) / tile_cols<T> * tile_cols<T>, gemm_block::max_cols);
  T* const packed_b = scratch;
  T* const packed_a = scratch + room;
  alignas(64) T tile[tile_rows * tile_cols<T>];
  for (int64_t p = 0; p < g.a.cols; p += gemm_block::max_inner) {
    const int64_t inner = least(g.a.cols - p, gemm_block::max_inner);
    const bool add = g.accumulate || p > 0;
    for (int64_t j = 0; j < g.c.cols; j += gemm_block::max_cols) {
      const int64_t cols = least(g.c.cols - j, gemm_block::max_cols);
      pack<tile_cols<T>>(b + p * g.b.row_stride + j * g.b.col_stride, cols, g.b.col_stride, inner, g.b.row_stride,
                         packed_b);
      for (int64_t i = 0; i < g.c.rows; i += gemm_block::max_rows) {
        const int64_t rows = least(g.c.rows - i, gemm_block::max_rows);
        pack<tile_rows>(a + i * g.a.row_stride + p * g.a.col_stride, rows, g.a.row_stride, inner, g.a.col_stride,
                        packed_a);
        for (int64_t jj = 0; jj < cols; jj += tile_cols<T>)
          for (int64_t ii = 0; ii < rows; ii += tile_rows) {
            multiply(inner, packed_a + ii * inner, packed_b + jj * inner, tile);
            put(tile, least(rows - ii, tile_rows), least(cols - jj, tile_cols<T>),
                c + (i + ii) * g.c.row_stride + (j + jj) * g.c.col_stride, g.c.row_stride, g.c.col_stride,
                bias ? bias + j + jj : nullptr, add);
          }
      }
    }
  }
}

template <class T>
void add_rows(const Matrix& m, const T* other, int64_t other_stride) {
  auto* c = static_cast<T*>(m.data);
  const auto sum = [&](int64_t j) { return batch<T>::load_unaligned(c + j) + batch<T>::load_unaligned(other + j); };
  for (int64_t i = 0; i < m.rows; ++i, c += m.row_stride, other += other_stride) {
    if (m.cols < lanes<T>) {
      for (int64_t j = 0; j < m.cols; ++j) c[j] += other[j];
      continue;
    }
    const int64_t end = m.cols - lanes<T>;
    const batch<T> last = sum(end);  // which may overlap the one before
    for (int64_t j = 0; j < end; j += lanes<T>) sum(j).store_unaligned(c + j);
    last.store_unaligned(c + end);
  }
}

}  // namespace

template <>
void gemm_block::run<Here>(const Block& block, void* scratch) {
  if (block.c.dtype == DType::float32)
    run_block(block, static_cast<float*>(scratch));
  else
    run_block(block, static_cast<double*>(scratch));
}

template <>
void gemm_add::run<Here>(Matrix c, const void* other, int64_t other_stride) {
  if (c.dtype == DType::float32)
    add_rows(c, static_cast<const float*>(other), other_stride);
  else
    add_rows(c, static_cast<const double*>(other), other_stride);
}

}  // namespace tutti::kernel
