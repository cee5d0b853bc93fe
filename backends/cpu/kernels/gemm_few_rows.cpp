// Products of few rows, as tiles of dot products with the lanes along the inner dimension. To pack b, which other
// products do, costs as much as reading it once more; with few rows that is most of the work.
#include "tutti/backends/cpu/gemm_block.h"
#include "tutti/backends/cpu/simd.h"

namespace tutti::kernel {
namespace {

// Tiles of rows x columns: at least 8 sums, which hide the latency of additions, and no more than registers hold beside
// the operands. GCC loads what it needs twice twice; three uses keep it in a register.
constexpr bool wide = sizeof(batch<float>) == 64;  // 32 registers
constexpr int tile_rows = 4;
constexpr int tile_cols(int rows) {
  return wide ? (rows == 4 ? 4 : rows == 3 ? 5 : 8) : rows >= 3 ? 3 : rows == 2 ? 4 : 8;
}

/// Columns of b that are used for all rows before the next ones: they stay in the first two levels of the cache.
constexpr int64_t panel_bytes = 64 * 1024, panel_unit = 24;  // whole tiles of 3, 4, 5 and 8

/// One level of the sums across lanes: halves of segments of a and b are added, so that the result has segments half as
/// long, a's before b's. First within blocks of 16 bytes (`across` false), where a shuffle is one instruction on every
/// instruction set, then between whole blocks.
template <bool across, int segment, class T, class V>
TUTTI_INLINE V fold(const V& a, const V& b) {
  constexpr int L = lanes<T>, block = 16 / sizeof(T), n = across ? L / block : block;
  constexpr auto source = [](int lane, int high) constexpr {
    const int at = across ? lane / block : lane % block, half = at % (n / 2);
    const int from = half / (segment / 2) * segment + half % (segment / 2) + high * (segment / 2);
    return (at < n / 2 ? 0 : L) + (across ? from * block + lane % block : lane / block * block + from);
  };
  return [&]<int... I>(std::integer_sequence<int, I...>) __attribute__((always_inline)) {
    return __builtin_shufflevector(a, b, source(I, 0)...) + __builtin_shufflevector(a, b, source(I, 1)...);
  }
  (std::make_integer_sequence<int, L>{});
}

template <bool across, int segment, int count, class T, class V>
TUTTI_INLINE void fold_all(V* v) {
  if constexpr (segment > 1) {
    unroll<count / 2>([&](auto i)
                          __attribute__((always_inline)) { v[i] = fold<across, segment, T>(v[2 * i], v[2 * i + 1]); });
    fold_all<across, segment / 2, count / 2, T>(v);
  }
}

/// The sums of as many vectors as one has lanes. The order of additions is the same in each. (xsimd has this as haddp;
/// version 8.1's is wrong for AVX-512.)
template <class T>
TUTTI_INLINE void sums_of(const batch<T>* x, T* sums) {
  constexpr int L = lanes<T>, block = 16 / sizeof(T);
  typedef T V __attribute__((vector_size(L * sizeof(T))));
  typedef V Unaligned __attribute__((aligned(alignof(T)), may_alias));
  V v[L];
  unroll<L>([&](auto i) __attribute__((always_inline)) {
    v[i] = reinterpret_cast<V>(static_cast<typename batch<T>::register_type>(x[i]));
  });
  fold_all<false, block, L, T>(v);
  fold_all<true, L / block, L / block, T>(v);
  *reinterpret_cast<Unaligned*>(sums) = v[0];
}

template <class T>
struct Operands {
  const T *a, *b;
  int64_t a_line, b_line, inner;
  const T* last;  // of the last vector of every line, the lanes that no other vector has: 1, else 0
};

/// x, as it is. GCC would fold its load into every multiplication with it, up to three, and load as often.
template <class T>
TUTTI_INLINE batch<T> in_register(const batch<T>& x) {
  typename batch<T>::register_type v = x;
#ifdef __x86_64__
  asm("" : "+v"(v));
#endif
  return v;
}

/// M x N dot products.
template <int M, int N, class T>
TUTTI_INLINE void dots(const Operands<T>& o, T* sums) {
  constexpr int64_t L = lanes<T>;
  constexpr int groups = (M * N + L - 1) / L;
  batch<T> sum[groups * L];
  unroll<groups * L>([&](auto i) __attribute__((always_inline)) { sum[i] = batch<T>(T{0}); });
  const auto step = [&](const auto& load) __attribute__((always_inline)) {
    batch<T> y[N];
    unroll<N>([&](auto j) __attribute__((always_inline)) { y[j] = in_register(load(o.b + j * o.b_line)); });
    unroll<M>([&](auto i) __attribute__((always_inline)) {
      const batch<T> x = load(o.a + i * o.a_line);
      unroll<N>([&](auto j) __attribute__((always_inline)) { sum[i * N + j] = multiply_add(x, y[j], sum[i * N + j]); });
    });
  };
  int64_t p = 0;
  for (; p + L <= o.inner; p += L) {
    step([&](const T* line) __attribute__((always_inline)) { return batch<T>::load_unaligned(line + p); });
  }
  if (p < o.inner) {
    const batch<T> zero(T{0});
    const auto fresh = differ(batch<T>::load_unaligned(o.last), zero);
    step([&](const T* line) __attribute__((always_inline)) {
      return xsimd::select(fresh, batch<T>::load_unaligned(line + o.inner - L), zero);
    });
  }
  unroll<groups>([&](auto i) __attribute__((always_inline)) { sums_of(sum + i * L, sums + i * L); });
}

template <class T>
struct Result {
  T* c;
  int64_t row_stride, col_stride;
  const T* bias;
  bool add;
};

template <int M, int N, class T>
void tile(const Operands<T>& o, const Result<T>& r) {
  T sums[(M * N + lanes<T> - 1) / lanes<T> * lanes<T>];
  dots<M, N>(o, sums);
  const auto put = [&](const auto& value) __attribute__((always_inline)) {
    for (int i = 0; i < M; ++i)
      for (int j = 0; j < N; ++j) {
        T& to = r.c[i * r.row_stride + j * r.col_stride];
        to = value(to, sums[i * N + j], j);
      }
  };
  if (r.add)
    put([](T c, T sum, int) __attribute__((always_inline)) { return c + sum; });
  else if (r.bias)
    put([&](T, T sum, int j) __attribute__((always_inline)) { return sum + r.bias[j]; });
  else
    put([](T, T sum, int) __attribute__((always_inline)) { return sum; });
}

/// M rows: columns by N, then by N / 2, ...
template <int M, int N, class T>
TUTTI_INLINE void columns(int64_t cols, Operands<T> o, Result<T> r) {
  for (; cols >= N; cols -= N) {
    tile<M, N>(o, r);
    o.b += N * o.b_line;
    r.c += N * r.col_stride;
    if (r.bias) r.bias += N;
  }
  if constexpr (N > 1) {
    if (cols > 0) columns<M, N / 2>(cols, o, r);
  }
}

template <class T>
void run_rows(const Block& g) {
  const auto* const bias = static_cast<const T*>(g.bias);
  const int64_t size = static_cast<int64_t>(sizeof(T));
  int64_t panel = panel_bytes / (g.a.cols * size) / panel_unit * panel_unit;
  if (panel < panel_unit) panel = panel_unit;
  T last[lanes<T>];
  for (int64_t i = 0; i < lanes<T>; ++i) last[i] = i >= lanes<T> - g.a.cols % lanes<T> ? T{1} : T{0};
  for (int64_t j = 0; j < g.c.cols; j += panel) {
    const int64_t cols = g.c.cols - j < panel ? g.c.cols - j : panel;
    Operands<T> o{static_cast<const T*>(g.a.data),
                  static_cast<const T*>(g.b.data) + j * g.b.col_stride,
                  g.a.row_stride,
                  g.b.col_stride,
                  g.a.cols,
                  last};
    Result<T> r{static_cast<T*>(g.c.data) + j * g.c.col_stride, g.c.row_stride, g.c.col_stride,
                bias ? bias + j : nullptr, g.accumulate};
    int64_t rows = g.c.rows;
    for (; rows >= tile_rows; rows -= tile_rows) {
      columns<tile_rows, tile_cols(tile_rows)>(cols, o, r);
      o.a += tile_rows * o.a_line;
      r.c += tile_rows * r.row_stride;
    }
    if (rows == 3)
      columns<3, tile_cols(3)>(cols, o, r);
    else if (rows == 2)
      columns<2, tile_cols(2)>(cols, o, r);
    else if (rows == 1)
      columns<1, tile_cols(1)>(cols, o, r);
  }
}

}  // namespace

template <>
void gemm_few_rows::run<Here>(const Block& block) {
  if (block.c.dtype == DType::float32)
    run_rows<float>(block);
  else
    run_rows<double>(block);
}

}  // namespace tutti::kernel
