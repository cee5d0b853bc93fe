// For the attention kernels on multiply-adds: a tile of 64 x 64 scores and what is done with it, by a block of threads
// of which each has `thread_rows` rows and 4 columns of the scores, and `thread_rows` rows and N channels of a result.
//
// On paper, an H200 (65536 registers and 227 KB of shared memory per multiprocessor) with float32 and 128 threads:
//   N = 8  238 registers, 48 KB: 2 blocks per multiprocessor, 8 warps
//   N = 4  198 registers, 33 KB: 2 blocks
//   N = 2  166 registers, 33 KB: 3 blocks
// float64 with N = 4 has 256 threads of 200 registers and 64 KB: 1 block. The backward pass (N = 4, 2) has up to 255
// registers: 2 blocks, 1 of float64. A step of depth takes a warp 4 cycles of shared memory (2 for 8 rows, 2 for 64
// columns) for 32 multiply-adds, for which the multiprocessor needs 8: bound by multiply-adds, of which 32 independent
// ones hide their own latency. From global memory a tile of D = Dv = 128 takes 3 x 64 x 128 numbers for 2 x 64 x 64 x
// 128 multiply-adds, 11 per byte, most of it out of the L2.
#pragma once
#include "tutti/backends/cuda/attention.h"

namespace tutti {
namespace {

constexpr int tile = 64;         // rows and columns
constexpr int tile_columns = 4;  // of a thread
/// Of a thread: registers are 32 bits wide.
template <class C>
constexpr int thread_rows = sizeof(C) == 8 ? 4 : 8;
template <class C>
constexpr int tile_threads = tile / thread_rows<C>* tile / tile_columns;

/// Channels that are staged at once for the scores, and the pitch of a staged channel: 4 channels further is half of
/// the banks further.
template <class C>
constexpr int staged_depth = sizeof(C) == 8 ? 16 : 32;
template <class C>
constexpr int staged_pitch = sizeof(C) == 8 ? tile + 2 : tile + 4;

/// The block's shared memory: weights [column][row] stay, the rest is rows and columns of a product, or what the
/// weights multiply.
template <class C, int N>
struct TileMemory {
  C* weights;
  C *rows, *columns;
  C* values;

  __device__ explicit TileMemory(C* memory)
      : weights(memory),
        rows(memory + tile * tile),
        columns(rows + staged_depth<C> * staged_pitch<C>),
        values(memory + tile * tile) {}
  static constexpr size_t bytes() {
    constexpr int products = 2 * staged_depth<C> * staged_pitch<C>, multiplied = tile * 16 * N;
    return sizeof(C) * (tile * tile + (products > multiplied ? products : multiplied));
  }
};

/// The first of this thread's rows and columns.
template <class C>
__device__ int first_row() {
  return static_cast<int>(threadIdx.x) / 16 * thread_rows<C>;
}
__device__ inline int first_column() { return static_cast<int>(threadIdx.x) % 16 * tile_columns; }
/// Channel n of this thread's: packs of 4, or what there is, 16 threads side by side.
template <int N>
__device__ int channel_of(int n) {
  constexpr int pack = N < 4 ? N : 4;
  return static_cast<int>(threadIdx.x) % 16 * pack + n / pack * 16 * pack + n % pack;
}

/// n neighbours in shared memory, 16 bytes at a time.
template <int n, class C>
__device__ void load_shared(const C* p, C (&v)[n]) {
  constexpr int pack = n * sizeof(C) < 16 ? n : 16 / sizeof(C);
  TUTTI_UNROLL
  for (int i = 0; i < n; i += pack) {
    const auto x = *reinterpret_cast<const Pack<C, pack>*>(p + i);
    TUTTI_UNROLL
    for (int k = 0; k < pack; ++k) v[i + k] = x.v[k];
  }
}

template <int n, class C>
__device__ void store_shared(const C (&v)[n], C* p) {
  constexpr int pack = 16 / sizeof(C);
  TUTTI_UNROLL
  for (int i = 0; i < n; i += pack) {
    Pack<C, pack> x;
    TUTTI_UNROLL
    for (int k = 0; k < pack; ++k) x.v[k] = v[i + k];
    *reinterpret_cast<Pack<C, pack>*>(p + i) = x;
  }
}

/// Channels [from, from + staged_depth) of 64 tokens, times `factor`, as [channel][token]; 0 where there is nothing.
/// A warp takes 16 tokens by two packs of 16 bytes: whole sectors of memory. No two lanes of it write to one bank, but
/// of 16-bit numbers two do.
template <class T, class C = compute_t<T>>
__device__ void stage_transposed(const Tokens<const T>& x, int64_t from, C factor, C* to) {
  constexpr int V = 16 / sizeof(T), steps = staged_depth<C> / V / 2;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const bool packed = packable<V>(x);
  for (int u = static_cast<int>(threadIdx.x) / 32; u < tile / 16 * steps; u += tile_threads<C> / 32) {
    const int token = u % (tile / 16) * 16 + lane / 2, depth = (u / (tile / 16) * 2 + lane % 2) * V;
    const int64_t left = token < x.count ? x.width - from - depth : 0;
    const T* const p = x.data + token * x.token_stride + (from + depth) * x.stride;
    C v[V] = {};
    if (packed && left > 0) {
      const auto pack = *reinterpret_cast<const Pack<T, V>*>(p);
      TUTTI_UNROLL
      for (int k = 0; k < V; ++k) v[k] = load(&pack.v[k]);
    } else {
      TUTTI_UNROLL
      for (int k = 0; k < V; ++k)
        if (k < left) v[k] = load(p + k * x.stride);
    }
    TUTTI_UNROLL
    for (int k = 0; k < V; ++k) to[(depth + k) * staged_pitch<C> + token] = v[k] * factor;
  }
}

/// scores[r][c] = the sum over channels of rows[first_row + r] columns[first_column + c], each times its factor.
template <int N, class T, class C = compute_t<T>>
__device__ void product(const Tokens<const T>& rows, C row_factor, const Tokens<const T>& columns, C column_factor,
                        const TileMemory<C, N>& memory, C (&scores)[thread_rows<C>][tile_columns]) {
  TUTTI_UNROLL
  for (auto& row : scores) {
    TUTTI_UNROLL
    for (C& s : row) s = C(0);
  }
  if (rows.width == 0) __syncthreads();  // what follows counts on one
  for (int64_t from = 0; from < rows.width; from += staged_depth<C>) {
    __syncthreads();  // the memory is used again
    stage_transposed<T>(rows, from, row_factor, memory.rows);
    stage_transposed<T>(columns, from, column_factor, memory.columns);
    __syncthreads();
    const int depth = static_cast<int>(min(rows.width - from, int64_t{staged_depth<C>}));
    const C *r = memory.rows + first_row<C>(), *c = memory.columns + first_column();
    for (int d = 0; d < depth; d += 2) {  // staged beyond the width: zeros
      TUTTI_UNROLL
      for (int e = 0; e < 2; ++e, r += staged_pitch<C>, c += staged_pitch<C>) {
        C x[thread_rows<C>], y[tile_columns];
        load_shared(r, x);
        load_shared(c, y);
        TUTTI_UNROLL
        for (int i = 0; i < thread_rows<C>; ++i) {
          TUTTI_UNROLL
          for (int j = 0; j < tile_columns; ++j) scores[i][j] = multiply_add(x[i], y[j], scores[i][j]);
        }
      }
    }
  }
}

/// What is added to the scores of the tile: -inf hides, also NaN. Between a product and store_weights. The numbers go
/// through places of the weights' memory that are this thread's own: a loop that is not unrolled takes few registers.
template <bool rows_are_keys, class T, class C>
__device__ void add_bias(const AttentionProblem& a, int64_t b, int64_t h, int64_t query, int64_t key, C* places,
                         C (&scores)[thread_rows<C>][tile_columns]) {
  const int64_t mask = mask_start(a, b, h);
  const int64_t row = (rows_are_keys ? key : query) + first_row<C>(),
                column = (rows_are_keys ? query : key) + first_column();
  C* place = places + threadIdx.x;
  for (int e = 0; e < thread_rows<C> * tile_columns; ++e, place += tile_threads<C>) {
    const int64_t r = row + e / tile_columns, c = column + e % tile_columns;
    *place = rows_are_keys ? bias_at<T>(a, mask, c, r) : bias_at<T>(a, mask, r, c);
  }
  place = places + threadIdx.x;
  TUTTI_UNROLL
  for (auto& of_row : scores) {
    TUTTI_UNROLL
    for (C& s : of_row) {
      const C add = *place;
      s = add == -infinity<C> ? add : s + add;
      place += tile_threads<C>;
    }
  }
}
/// The factors of the weights by dropout, in the same places as factor(e), e = row * tile_columns + column.
template <bool rows_are_keys, class C>
__device__ void draw_factors(const AttentionProblem& a, int64_t b, int64_t h, int64_t query, int64_t key, C* places) {
  C* const place = places + threadIdx.x;
  for (int i = 0; i < thread_rows<C>; i += rows_are_keys ? 4 : 1)
    for (int j = 0; j < tile_columns; j += rows_are_keys ? 1 : 4) {
      C factor[4];
      drop_factors(a,
                   rows_are_keys ? word_index(a, b, h, query + first_column() + j, key + first_row<C>() + i)
                                 : word_index(a, b, h, query + first_row<C>() + i, key + first_column() + j),
                   factor);
      TUTTI_UNROLL
      for (int k = 0; k < 4; ++k)
        place[(rows_are_keys ? (i + k) * tile_columns + j : i * tile_columns + j + k) * tile_threads<C>] = factor[k];
    }
}

/// Where the weights of 4 rows for one column lie: packs of rows are permuted by column, so that neither a thread's
/// storing of its columns nor the loading of a column meets one bank twice.
__device__ inline int weight_index(int column, int row) {
  return column * tile + (((row / 4) ^ (column / tile_columns % 8)) * 4);
}
/// This thread's weights to shared memory. Rows belong to half a warp, which alone reads them again.
template <class C>
__device__ void store_weights(const C (&weights)[thread_rows<C>][tile_columns], C* to) {
  constexpr int pack = 16 / sizeof(C);
  __syncwarp();  // they may still be read
  TUTTI_UNROLL
  for (int j = 0; j < tile_columns; ++j) {
    TUTTI_UNROLL
    for (int i = 0; i < thread_rows<C>; i += pack) {
      Pack<C, pack> x;
      TUTTI_UNROLL
      for (int k = 0; k < pack; ++k) x.v[k] = weights[i + k][j];
      *reinterpret_cast<Pack<C, pack>*>(to + weight_index(first_column() + j, first_row<C>() + i) + i % 4) = x;
    }
  }
}

/// 64 tokens by 16 N channels from channel `from` on, as they lie, 0 where there is nothing. Whether this thread met
/// something infinite or NaN.
template <int N, class T, class C = compute_t<T>>
__device__ bool stage_values(const Tokens<const T>& x, int64_t from, C* to) {
  constexpr int V = 16 / sizeof(T), packs = 16 * N / V;
  const bool packed = packable<V>(x);
  bool finite = true;
  for (int i = static_cast<int>(threadIdx.x); i < tile * packs; i += tile_threads<C>) {
    const int token = i / packs, channel = i % packs * V;
    const int64_t left = token < x.count ? x.width - from - channel : 0;
    const T* const p = x.data + token * x.token_stride + (from + channel) * x.stride;
    C v[V] = {};
    if (packed && left > 0) {
      const auto pack = *reinterpret_cast<const Pack<T, V>*>(p);
      TUTTI_UNROLL
      for (int k = 0; k < V; ++k) v[k] = load(&pack.v[k]);
    } else {
      TUTTI_UNROLL
      for (int k = 0; k < V; ++k)
        if (k < left) v[k] = load(p + k * x.stride);
    }
    TUTTI_UNROLL
    for (int k = 0; k < V; ++k) finite &= v[k] * C(0) == C(0);
    store_shared(v, to + token * 16 * N + channel);
  }
  return !finite;
}

template <bool hiding, int N, class C>
__device__ void add_weighted_staged(const TileMemory<C, N>& memory, int count, C (&sums)[thread_rows<C>][N]) {
  for (int column = 0; column < count; ++column) {
    C w[thread_rows<C>], v[N];
    TUTTI_UNROLL
    for (int i = 0; i < thread_rows<C>; i += 4) {
      C four[4];
      load_shared(memory.weights + weight_index(column, first_row<C>() + i), four);
      TUTTI_UNROLL
      for (int k = 0; k < 4; ++k) w[i + k] = four[k];
    }
    constexpr int pack = N < 4 ? N : 4;
    TUTTI_UNROLL
    for (int n = 0; n < N; n += pack) {
      C some[pack];
      load_shared(memory.values + column * 16 * N + channel_of<N>(n), some);
      TUTTI_UNROLL
      for (int k = 0; k < pack; ++k) v[n + k] = some[k];
    }
    TUTTI_UNROLL
    for (int i = 0; i < thread_rows<C>; ++i) {
      TUTTI_UNROLL
      for (int n = 0; n < N; ++n)
        if (!hiding || w[i] != C(0)) sums[i][n] = multiply_add(w[i], v[n], sums[i][n]);
    }
  }
}

/// sums[r][n] += sum over columns of weights[column][first_row + r] x[column][from + channel n]. Where `masked`, a
/// weight of 0 hides what it multiplies, even infinity and NaN.
template <int N, class T, class C = compute_t<T>>
__device__ void add_weighted(const Tokens<const T>& x, int64_t from, bool masked, const TileMemory<C, N>& memory,
                             C (&sums)[thread_rows<C>][N]) {
  __syncthreads();
  const bool not_finite = stage_values<N, T>(x, from, memory.values);
  if (__syncthreads_or(not_finite) && masked)
    add_weighted_staged<true>(memory, x.count, sums);
  else
    add_weighted_staged<false>(memory, x.count, sums);
}

/// Rows of a result, times `factor(r)`.
template <int N, class T, class C, class F>
__device__ void store_rows(const C (&sums)[thread_rows<C>][N], const Tokens<T>& to, int64_t from, const F& factor) {
  constexpr int pack = N < 4 ? N : 4;
  const bool packed = packable<pack>(to);
  TUTTI_UNROLL
  for (int i = 0; i < thread_rows<C>; ++i) {
    const int row = first_row<C>() + i;
    if (row >= to.count) continue;
    const C f = factor(i);
    TUTTI_UNROLL
    for (int n = 0; n < N; n += pack) {
      const int64_t channel = from + channel_of<N>(n);
      T* const p = to.data + row * to.token_stride + channel * to.stride;
      Pack<T, pack> y;
      TUTTI_UNROLL
      for (int k = 0; k < pack; ++k) store(&y.v[k], sums[i][n + k] * f);
      if (packed && channel < to.width) {
        *reinterpret_cast<Pack<T, pack>*>(p) = y;
      } else {
        TUTTI_UNROLL
        for (int k = 0; k < pack; ++k)
          if (channel + k < to.width) p[k * to.stride] = y.v[k];
      }
    }
  }
}

}  // namespace
}  // namespace tutti
