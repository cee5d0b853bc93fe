// The packed, register-tiled product after Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication"
// (2008): panels of b are packed so that the innermost loop reads them in order, and a tile of c stays in registers for
// a whole panel. Rows of a are read where they lie: a broadcast costs the same from anywhere in the first-level cache.
#include "tutti/backends/cpu/gemm_block.h"

#include "tutti/backends/cpu/simd.h"

namespace tutti::kernel {
namespace {

// A tile of c: rows x vectors. The tallest one's accumulators fill 28 of AVX-512's 32 registers, or 12 of 16; the
// others are for what is left below it (and of one vector for what is left beside), still enough sums to hide their
// latency.
constexpr int vectors = 2;
constexpr bool many_registers = sizeof(batch<float>) == 64;
constexpr int tall = many_registers ? 14 : 6, middle = many_registers ? 8 : 4, low = many_registers ? 4 : 2;
template <class T>
constexpr int64_t tile_cols = vectors* lanes<T>;
static_assert(gemm_pack::unit % tile_cols<float> == 0 && low <= gemm_packed::least_rows);

// (Not std::min: a function of the standard library may be linked as compiled here, for a CPU that has fewer
// registers.)
TUTTI_INLINE int64_t least(int64_t x, int64_t y) { return x < y ? x : y; }

template <class T>
TUTTI_INLINE void clear(T* p, int64_t count) {
  for (int64_t i = 0; i < count; ++i) p[i] = T{0};
}

/// Where a tile goes: its rows from `skip` on, which are added to, or replaced (with the bias added).
template <class T>
struct Place {
  T* to;
  int64_t row_stride;
  const T* bias;
  bool add;
  int64_t skip;
};

/// rows x (count vectors) of c: rows of a, each contiguous, times a packed panel of b.
template <int rows, int count, class T>
void multiply(int64_t inner, const T* a, int64_t a_stride, const T* panel, const Place<T>& place) {
  batch<T> sum[rows][count];
  unroll<rows>([&](auto i) __attribute__((always_inline)) {
    unroll<count>([&](auto j) __attribute__((always_inline)) { sum[i][j] = batch<T>(T{0}); });
  });
  // A pointer for every three rows: with index and displacement it reaches them all, and pointers are scarce, too.
  constexpr int groups = (rows + 2) / 3, steps = 4;
  const T* line[groups];
  unroll<groups>([&](auto i) __attribute__((always_inline)) { line[i] = a + 3 * i * a_stride; });
  const auto step = [&](int64_t at) __attribute__((always_inline)) {
    batch<T> b[count];
    unroll<count>([&](auto j) __attribute__((always_inline)) { b[j] = batch<T>::load_aligned(panel + j * lanes<T>); });
    unroll<rows>([&](auto i) __attribute__((always_inline)) {
      const batch<T> x(line[i / 3][i % 3 * a_stride + at]);
      unroll<count>([&](auto j) __attribute__((always_inline)) { sum[i][j] = multiply_add(x, b[j], sum[i][j]); });
    });
    panel += tile_cols<T>;
  };
  int64_t p = 0;
  for (; p + steps <= inner; p += steps) {
    unroll<steps>(step);
    unroll<groups>([&](auto i) __attribute__((always_inline)) { line[i] += steps; });
  }
  for (; p < inner; ++p) {
    step(0);
    unroll<groups>([&](auto i) __attribute__((always_inline)) { ++line[i]; });
  }
  alignas(64) T nowhere[tile_cols<T>] = {};
  const auto store = [&](auto&& finished) __attribute__((always_inline)) {
    unroll<rows>([&](auto i) __attribute__((always_inline)) {
      T* const to = i < place.skip ? nowhere : place.to + i * place.row_stride;
      unroll<count>([&](auto j) __attribute__((always_inline)) {
        constexpr int64_t at = j * lanes<T>;
        finished(sum[i][j], at, to + at).store_unaligned(to + at);
      });
    });
  };
  if (place.add)
    store([](const batch<T>& x, int64_t, const T* to) { return x + batch<T>::load_unaligned(to); });
  else if (place.bias)
    store([&](const batch<T>& x, int64_t at, const T*) { return x + batch<T>::load_unaligned(place.bias + at); });
  else
    store([](const batch<T>& x, int64_t, const T*) { return x; });
}

/// The same with the number of rows chosen at run time: one of tall, middle, low.
template <int count, class T>
void multiply(int64_t rows, int64_t inner, const T* a, int64_t a_stride, const T* panel, const Place<T>& place) {
  if (rows == tall)
    multiply<tall, count>(inner, a, a_stride, panel, place);
  else if (rows == middle)
    multiply<middle, count>(inner, a, a_stride, panel, place);
  else
    multiply<low, count>(inner, a, a_stride, panel, place);
}

/// As many vectors as one has lanes become their transpose: every pass interleaves the first half with the second.
template <int L, int passes = L, class V>
TUTTI_INLINE void transpose(V* v) {
  constexpr auto interleave =
      []<int... I>(const V& a, const V& b, auto half, std::integer_sequence<int, I...>) __attribute__((always_inline)) {
    return __builtin_shufflevector(a, b, (half * (L / 2) + I / 2 + I % 2 * L)...);
  };
  if constexpr (passes > 1) {
    V next[L];
    unroll<L / 2>([&](auto i) __attribute__((always_inline)) {
      constexpr std::make_integer_sequence<int, L> all;
      next[2 * i] = interleave(v[i], v[i + L / 2], std::integral_constant<int, 0>{}, all);
      next[2 * i + 1] = interleave(v[i], v[i + L / 2], std::integral_constant<int, 1>{}, all);
    });
    transpose<L, passes / 2>(next);
    unroll<L>([&](auto i) __attribute__((always_inline)) { v[i] = next[i]; });
  }
}

/// rows x cols numbers of any strides, line after line.
template <class T>
void pack(const T* from, int64_t rows, int64_t row_stride, int64_t cols, int64_t col_stride, T* to, int64_t to_stride) {
  constexpr int L = lanes<T>;
  typedef T V __attribute__((vector_size(L * sizeof(T))));
  typedef V Unaligned __attribute__((aligned(alignof(T)), may_alias));
  const auto one_by_one = [&](int64_t row, int64_t row_end, int64_t col, int64_t col_end) {
    for (int64_t i = row; i < row_end; ++i)
      for (int64_t j = col; j < col_end; ++j) to[i * to_stride + j] = from[i * row_stride + j * col_stride];
  };
  const int64_t whole_rows = rows / L * L, whole_cols = cols / L * L;
  if (col_stride == 1) {
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < whole_cols; j += L)
        batch<T>::load_unaligned(from + i * row_stride + j).store_unaligned(to + i * to_stride + j);
    one_by_one(0, rows, whole_cols, cols);
  } else if (row_stride == 1) {
    for (int64_t j = 0; j < whole_cols; j += L)
      for (int64_t i = 0; i < whole_rows; i += L) {
        V v[L];
        unroll<L>([&](auto k) __attribute__((always_inline)) {
          v[k] = *reinterpret_cast<const Unaligned*>(from + (j + k) * col_stride + i);
        });
        transpose<L>(v);
        unroll<L>([&](auto k) __attribute__((always_inline)) {
          *reinterpret_cast<Unaligned*>(to + (i + k) * to_stride + j) = v[k];
        });
      }
    one_by_one(0, whole_rows, whole_cols, cols);
    one_by_one(whole_rows, rows, 0, cols);
  } else {
    one_by_one(0, rows, 0, cols);
  }
}

/// A tile that is narrower than its vectors, or goes to a matrix whose rows have gaps.
template <class T>
void put(const T* tile, int64_t rows, int64_t cols, T* c, int64_t row_stride, int64_t col_stride, const T* bias,
         bool add) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < cols; ++j) {
      T& to = c[i * row_stride + j * col_stride];
      const T v = tile[i * tile_cols<T> + j];
      to = add ? to + v : bias ? v + bias[j] : v;
    }
}

/// Rows of a, from c's row `row` on, times all panels: a tile of a stays in the first-level cache, and c is written
/// along its rows.
template <class T>
void multiply_rows(const Block& g, int64_t row, int64_t rows, const T* a, int64_t a_stride, const T* packed) {
  alignas(64) T tile[tall * tile_cols<T>];
  const Matrix& c = g.c;
  const auto* const bias = static_cast<const T*>(g.bias);
  int64_t height = 0;
  for (int64_t i = 0; i < rows; i += height) {
    const int64_t left = rows - i;
    height = left > middle ? tall : left > low ? middle : low;
    while (height > low && height > rows) height = height == tall ? middle : low;
    // The last tile begins in the one before, whose rows it computes once more, unless there is none.
    const int64_t skip = height > left ? least(height - left, i) : 0;
    const T* const lines = a + (i - skip) * a_stride;
    T* const to = static_cast<T*>(c.data) + (row + i - skip) * c.row_stride;
    for (int64_t j = 0; j < c.cols; j += tile_cols<T>) {
      const T* const panel = packed + j * g.a.cols;
      const int64_t cols = least(c.cols - j, tile_cols<T>);
      const bool narrow = cols <= lanes<T>;
      const auto product = [&](const Place<T>& place) {
        if (narrow)
          multiply<1>(height, g.a.cols, lines, a_stride, panel, place);
        else
          multiply<vectors>(height, g.a.cols, lines, a_stride, panel, place);
      };
      if (cols == (narrow ? 1 : vectors) * lanes<T> && c.col_stride == 1 && height - skip <= left) {
        product({to + j, c.row_stride, bias ? bias + j : nullptr, g.accumulate, skip});
      } else {
        product({tile, tile_cols<T>, nullptr, false, 0});
        put(tile + skip * tile_cols<T>, least(height - skip, left), cols, to + skip * c.row_stride + j * c.col_stride,
            c.row_stride, c.col_stride, bias ? bias + j : nullptr, g.accumulate);
      }
    }
    height -= skip;
  }
}

template <class T>
void pack_panels(const ConstMatrix& b, T* packed) {
  for (int64_t j = 0; j < b.cols; j += tile_cols<T>, packed += b.rows * tile_cols<T>) {
    const int64_t cols = least(b.cols - j, tile_cols<T>);
    if (cols < tile_cols<T>) clear(packed, b.rows * tile_cols<T>);
    pack(static_cast<const T*>(b.data) + j * b.col_stride, b.rows, b.row_stride, cols, b.col_stride, packed,
         tile_cols<T>);
  }
}

template <class T>
void run_packed(const Block& g, const T* packed_b, T* scratch) {
  const int64_t inner = g.a.cols;
  const auto* a = static_cast<const T*>(g.a.data);
  if (g.a.col_stride == 1 && g.c.rows >= low) {
    multiply_rows(g, 0, g.c.rows, a, g.a.row_stride, packed_b);
    return;
  }
  for (int64_t i = 0; i < g.c.rows; i += gemm_packed::max_rows, a += gemm_packed::max_rows * g.a.row_stride) {
    const int64_t rows = least(g.c.rows - i, gemm_packed::max_rows);
    pack(a, rows, g.a.row_stride, inner, g.a.col_stride, scratch, inner);
    if (rows < low) clear(scratch + rows * inner, (low - rows) * inner);
    multiply_rows(g, i, rows, scratch, inner, packed_b);
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
void gemm_pack::run<Here>(const ConstMatrix& b, void* packed) {
  if (b.dtype == DType::float32)
    pack_panels(b, static_cast<float*>(packed));
  else
    pack_panels(b, static_cast<double*>(packed));
}

template <>
void gemm_packed::run<Here>(const Block& block, const void* packed_b, void* scratch) {
  if (block.c.dtype == DType::float32)
    run_packed(block, static_cast<const float*>(packed_b), static_cast<float*>(scratch));
  else
    run_packed(block, static_cast<const double*>(packed_b), static_cast<double*>(scratch));
}

template <>
void gemm_add::run<Here>(Matrix c, const void* other, int64_t other_stride) {
  if (c.dtype == DType::float32)
    add_rows(c, static_cast<const float*>(other), other_stride);
  else
    add_rows(c, static_cast<const double*>(other), other_stride);
}

}  // namespace tutti::kernel
