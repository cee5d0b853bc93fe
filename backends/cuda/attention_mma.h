// For the attention kernels on tensor cores: tiles in shared memory, products of them by mma.sync, and what happens to
// scores that lie in the products' fragments. Elements are of 16 bits, or floats that are rounded to TF32 once their
// tile has come; the layouts are the same in bytes. A block has 4 warps; a warp has M * 16 rows of the scores and all C
// columns, so that maxima and sums of a row stay in the four lanes of a quad.
#pragma once
#include <cstring>

#include "tutti/backends/cuda/attention.h"
#include "tutti/core/precision.h"

namespace tutti {
namespace {

constexpr int mma_threads = 128;
/// Elements in 16 bytes, which are copied at once and are a row of ldmatrix. A product is two of them deep.
template <class T>
constexpr int chunk_size = 16 / static_cast<int>(sizeof(T));
/// Elements from row to row: 16 bytes more than the width, so that 8 rows meet 32 different banks.
template <class T, int W>
constexpr int mma_pitch = W + chunk_size<T>;

__device__ inline int lane_id() { return static_cast<int>(threadIdx.x) % 32; }
__device__ inline int warp_id() { return static_cast<int>(threadIdx.x) / 32; }

/// d += a b.
template <class T>
__device__ void multiply_tile(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  if constexpr (std::is_same_v<T, bfloat16>)
    ptx::mma_bf16_16x8x16(d, a, b, d);
  else if constexpr (std::is_same_v<T, float16>)
    ptx::mma_f16_16x8x16(d, a, b, d);
  else
    ptx::mma_tf32_16x8x8(d, a, b, d);
}
/// Two numbers, rounded, in a word.
template <class T>
__device__ unsigned pair_of(float low, float high) {
  unsigned word;
  if constexpr (std::is_same_v<T, bfloat16>) {
    const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
    std::memcpy(&word, &pair, sizeof word);
  } else {
    const __half2 pair = __floats2half2_rn(low, high);
    std::memcpy(&word, &pair, sizeof word);
  }
  return word;
}

/// Whether cp.async can fetch a chunk of channels.
template <class T>
__device__ bool copyable(const Tokens<const T>& x) {
  return x.stride == 1 && x.token_stride % chunk_size<T> == 0 && reinterpret_cast<uintptr_t>(x.data) % 16 == 0;
}
/// Up to a multiple of 16 they are staged, with zeros.
template <class T>
__device__ int staged_chunks(int64_t width) {
  return static_cast<int>((width + 15) / 16) * (16 / chunk_size<T>);
}

/// f(row, chunk, where it stands) for the chunks of `rows` tokens that are this thread's to fetch.
template <class T, int W, int rows, class F>
__device__ void for_own_chunks(T* tile, int64_t width, const F& f) {
  constexpr int V = chunk_size<T>;
  const int chunks = staged_chunks<T>(width);
#pragma unroll 1
  for (int i = static_cast<int>(threadIdx.x); i < rows * (W / V); i += mma_threads) {
    const int row = i / (W / V), chunk = i % (W / V);
    if (chunk < chunks) f(row, chunk, reinterpret_cast<Pack<T, V>*>(tile + row * mma_pitch<T, W> + V * chunk));
  }
}
/// `rows` tokens to shared memory, zeros where there is nothing: by cp.async if memory is in order.
template <class T, int W, int rows>
__device__ void fetch_tile(const Tokens<const T>& x, T* to) {
  constexpr int V = chunk_size<T>;
  const bool async = copyable(x);
  for_own_chunks<T, W, rows>(to, x.width, [&](int row, int chunk, Pack<T, V>* place) {
    const int64_t left = row < x.count ? max(int64_t{0}, min(int64_t{V}, x.width - V * chunk)) : 0;
    const T* const from = x.data + (left ? row * x.token_stride + V * chunk * x.stride : 0);
    if (async) {
      __pipeline_memcpy_async(place, from, 16, 16 - sizeof(T) * static_cast<size_t>(left));
    } else {
      Pack<T, V> v{};
      TUTTI_UNROLL
      for (int k = 0; k < V; ++k)
        if (k < left) v.v[k] = from[k * x.stride];
      *place = v;
    }
  });
}
/// Once it has come, and before others read it: rounds what this thread fetched of a tile, if it is floats. Whether
/// something of that is infinite or NaN, where `look`.
template <class T, int W, int rows>
__device__ bool settle_tile(T* tile, int64_t width, bool look) {
  constexpr int V = chunk_size<T>;
  bool finite = true;
  if (look || !is_half<T>)
    for_own_chunks<T, W, rows>(tile, width, [&](int, int, Pack<T, V>* place) {
      Pack<T, V> v = *place;
      TUTTI_UNROLL
      for (T& x : v.v) {
        if constexpr (is_half<T>) {
          constexpr unsigned exponent = std::is_same_v<T, bfloat16> ? 0x7f80u : 0x7c00u;
          finite &= (x.bits & exponent) != exponent;
        } else {
          x = __uint_as_float(ptx::to_tf32(x));
          finite &= x * 0 == 0;
        }
      }
      if constexpr (!is_half<T>) *place = v;
    });
  return look && !finite;
}

/// A warp's scores: element e of fragment (m, n) is row 16 m + lane / 4 + 8 (e / 2), column 8 n + 2 (lane % 4) + e % 2.
template <int M, int C>
using Fragments = float[M][C / 8][4];

__device__ inline int fragment_row(int m, int e) { return 16 * m + lane_id() / 4 + 8 * (e / 2); }
__device__ inline int fragment_column(int n, int e) { return 8 * n + 2 * (lane_id() % 4) + e % 2; }

/// The warp's rows, which `rows` begins at, against all columns of a tile, both [token][channel].
template <class T, int W, int M, int C>
__device__ void multiply_rows(const T* rows, const T* columns, int channels, Fragments<M, C>& scores) {
  TUTTI_UNROLL
  for (auto& row : scores) {
    TUTTI_UNROLL
    for (auto& fragment : row) {
      TUTTI_UNROLL
      for (float& s : fragment) s = 0;
    }
  }
  const int lane = lane_id();
  constexpr int V = chunk_size<T>;
  const T* a_at = rows + lane % 16 * mma_pitch<T, W> + lane / 16 * V;
  const T* b_at = columns + (lane % 8 + lane / 16 * 8) * mma_pitch<T, W> + lane / 8 % 2 * V;
  for (int c = 0; c < channels; c += 2 * V, a_at += 2 * V, b_at += 2 * V) {
    unsigned a[M][4];
    TUTTI_UNROLL
    for (int m = 0; m < M; ++m) ptx::ldmatrix_x4(a[m], a_at + m * 16 * mma_pitch<T, W>);
    TUTTI_UNROLL
    for (int n = 0; n < C / 8; n += 2) {
      unsigned b[4];
      ptx::ldmatrix_x4(b, b_at + n * 8 * mma_pitch<T, W>);
      const unsigned first[2] = {b[0], b[1]}, second[2] = {b[2], b[3]};
      TUTTI_UNROLL
      for (int m = 0; m < M; ++m) {
        multiply_tile<T>(scores[m][n], a[m], first);
        multiply_tile<T>(scores[m][n + 1], a[m], second);
      }
    }
  }
}

/// Fragments of weights as the left operand of one product along the columns, rounded to T. Fragments of 16-bit numbers
/// lie as the operand does. Of floats it has columns t and t + 4 (t = lane % 4) where the fragment has 2 t and 2 t + 1:
/// these are taken as they are, and the rows of the right operand in the same order.
template <class T>
__device__ void weights_operand(const float (*weights)[4], unsigned (&a)[4]) {
  if constexpr (is_half<T>) {
    TUTTI_UNROLL
    for (int w = 0; w < 4; ++w) {
      const auto& from = weights[w / 2];
      a[w] = pair_of<T>(from[w % 2 * 2], from[w % 2 * 2 + 1]);
    }
  } else {
    TUTTI_UNROLL
    for (int w = 0; w < 4; ++w) a[w] = ptx::to_tf32(weights[0][w % 2 * 2 + w / 2]);
  }
}
/// 16 channels, from x on, of as many tokens as a product is deep, as two right operands for that. A warp's loads of
/// floats meet 32 different banks, as two tokens further is 8 banks further.
template <class T, int W>
__device__ void values_operands(const T* x, unsigned (&b)[2][2]) {
  const int lane = lane_id();
  if constexpr (is_half<T>) {
    unsigned four[4];
    ptx::ldmatrix_x4_trans(four, x + lane % 16 * mma_pitch<T, W> + lane / 16 * 8);
    TUTTI_UNROLL
    for (int i = 0; i < 4; ++i) b[i / 2][i % 2] = four[i];
  } else {
    x += lane % 4 * 2 * mma_pitch<T, W> + lane / 4;
    TUTTI_UNROLL
    for (int i = 0; i < 4; ++i) b[i / 2][i % 2] = __float_as_uint(x[i % 2 * mma_pitch<T, W> + i / 2 * 8]);
  }
}

/// sums[row][channel] += weights[row][column] x[column][channel]; `x` is the tile from the first wanted channel on,
/// `channels` how many there are. The weights are rounded to T.
template <class T, int W, int M, int C, int P>
__device__ void add_weighted(const Fragments<M, C>& weights, const T* x, int channels, Fragments<M, P>& sums) {
  constexpr int depth = 2 * chunk_size<T>;
  TUTTI_UNROLL
  for (int k = 0; k < C / depth; ++k) {
    unsigned a[M][4];
    TUTTI_UNROLL
    for (int m = 0; m < M; ++m) weights_operand<T>(weights[m] + k * depth / 8, a[m]);
    TUTTI_UNROLL
    for (int n = 0; n < P / 16; ++n)
      if (16 * n < channels) {
        unsigned b[2][2];
        values_operands<T, W>(x + k * depth * mma_pitch<T, W> + n * 16, b);
        TUTTI_UNROLL
        for (int m = 0; m < M; ++m) {
          multiply_tile<T>(sums[m][2 * n], a[m], b[0]);
          multiply_tile<T>(sums[m][2 * n + 1], a[m], b[1]);
        }
      }
  }
}

/// The same where a weight of 0 hides what it multiplies, even infinity and NaN. Slow: weights go round the quad.
template <class T, int W, int M, int C, int P>
__device__ void add_weighted_hiding(const Fragments<M, C>& weights, const T* x, int channels, Fragments<M, P>& sums) {
  const int quad = lane_id() / 4 * 4;
  TUTTI_UNROLL
  for (int k = 0; k < C / 8; ++k)
    for (int j = 0; j < 8; ++j) {
      const T* const from = x + (8 * k + j) * mma_pitch<T, W> + 2 * (lane_id() % 4);
      TUTTI_UNROLL
      for (int m = 0; m < M; ++m) {
        TUTTI_UNROLL
        for (int side = 0; side < 2; ++side) {
          const auto& w = weights[m][k];
          const float p = __shfl_sync(~0u, j % 2 ? w[2 * side + 1] : w[2 * side], quad + j / 2);
          TUTTI_UNROLL
          for (int n = 0; n < P / 8; ++n) {
            if (8 * n < channels && p != 0) {
              float(&sum)[4] = sums[m][n];
              sum[2 * side] = fmaf(p, load(from + 8 * n), sum[2 * side]);
              sum[2 * side + 1] = fmaf(p, load(from + 8 * n + 1), sum[2 * side + 1]);
            }
          }
        }
      }
    }
}

/// Scores in units of log2, and what is added to them; -inf hides, also NaN. `row` and `column` are tokens: those of
/// the warp's first row and of the tile's first column. `places` has room for a warp's scores.
template <bool rows_are_keys, class T, int M, int C>
__device__ void scale_scores(const AttentionProblem& a, int64_t b, int64_t h, int64_t row, int64_t column, bool masked,
                             float* places, Fragments<M, C>& scores) {
  if (masked) {
    const int64_t mask = mask_start(a, b, h);
#pragma unroll 1
    for (int i = 0; i < M * C / 2; ++i) {  // one by one: few registers
      const int64_t r = row + fragment_row(i / (C / 2), i % 4), c = column + fragment_column(i / 4 % (C / 8), i % 4);
      places[i * 32 + lane_id()] = rows_are_keys ? bias_at<T>(a, mask, c, r) : bias_at<T>(a, mask, r, c);
    }
  }
  const auto scale = static_cast<float>(a.scale * log2_e);
  TUTTI_UNROLL
  for (int m = 0; m < M; ++m) {
    TUTTI_UNROLL
    for (int n = 0; n < C / 8; ++n) {
      TUTTI_UNROLL
      for (int e = 0; e < 4; ++e) {
        float& s = scores[m][n][e];
        const float add = masked ? places[(m * C / 2 + n * 4 + e) * 32 + lane_id()] : 0;
        s = add == -infinity<float> ? add : fmaf(s, scale, add);
      }
    }
  }
}

/// Which weights dropout keeps: bit i of element i % 4 of fragment (i / 4 / (C / 8), i / 4 % (C / 8)). A lane draws 4
/// neighbouring keys of a fragment, which are one call of Philox if the number of keys is a multiple of 4, and hands
/// them to whom they belong. Before the scores are computed, when registers are free.
template <bool rows_are_keys, int M, int C>
__device__ uint64_t draw_kept(const AttentionProblem& a, int64_t b, int64_t h, int64_t row, int64_t column,
                              float* places) {
  static_assert(M * C / 2 <= 64);
  const int lane = lane_id();
  __syncwarp();  // others may still read theirs
#pragma unroll 1
  for (int i = 0; i < M * C / 8; ++i) {
    const int m = i / (C / 8), n = i % (C / 8);
    // 16 x 8 elements: 8 queries of 4 times 4 keys, or 16 queries of 2 times 4 keys.
    const int query = rows_are_keys ? lane / 4 : lane / 2, key = (rows_are_keys ? lane % 4 : lane % 2) * 4;
    float factor[4];
    drop_factors(a,
                 rows_are_keys ? word_index(a, b, h, column + 8 * n + query, row + 16 * m + key)
                               : word_index(a, b, h, row + 16 * m + query, column + 8 * n + key),
                 factor);
    TUTTI_UNROLL
    for (int k = 0; k < 4; ++k) {
      const int r = rows_are_keys ? key + k : query, c = rows_are_keys ? query : key + k;
      places[(i * 4 + r / 8 * 2 + c % 2) * 32 + r % 8 * 4 + c / 2] = factor[k];
    }
  }
  __syncwarp();
  uint64_t kept = 0;
#pragma unroll 1
  for (int i = 0; i < M * C / 2; ++i) kept |= static_cast<uint64_t>(places[i * 32 + lane] > 0) << i;
  return kept;
}

/// The warp's rows of a result, times `factor(m, side)` of rows lane / 4 + 8 side of fragment m, to channels from
/// `from` on. `to` begins at these rows; `room` has place for them in a tile, by way of which whole sectors of memory
/// are written.
template <int W, int M, int P, class T, class F>
__device__ void store_fragments(const Fragments<M, P>& sums, T* room, const Tokens<T>& to, int64_t from,
                                const F& factor) {
  constexpr int V = chunk_size<T>;
  __syncwarp();
  TUTTI_UNROLL
  for (int m = 0; m < M; ++m) {
    TUTTI_UNROLL
    for (int side = 0; side < 2; ++side) {
      const float f = factor(m, side);
      T* const row = room + fragment_row(m, 2 * side) * mma_pitch<T, W>;
      TUTTI_UNROLL
      for (int n = 0; n < P / 8; ++n) {
        T* const place = row + fragment_column(n, 0);
        const float low = sums[m][n][2 * side] * f, high = sums[m][n][2 * side + 1] * f;
        if constexpr (is_half<T>)
          *reinterpret_cast<unsigned*>(place) = pair_of<T>(low, high);
        else
          *reinterpret_cast<Pack<T, 2>*>(place) = {low, high};
      }
    }
  }
  __syncwarp();
  const bool packed = packable<V>(to);
#pragma unroll 1
  for (int i = lane_id(); i < M * 16 * (P / V); i += 32) {
    const int row = i / (P / V), chunk = i % (P / V) * V;
    const int64_t left = to.width - from - chunk;
    if (row >= to.count || left <= 0) continue;
    const auto v = *reinterpret_cast<const Pack<T, V>*>(room + row * mma_pitch<T, W> + chunk);
    T* const p = to.data + row * to.token_stride + (from + chunk) * to.stride;
    if (packed) {
      *reinterpret_cast<Pack<T, V>*>(p) = v;
    } else {
      TUTTI_UNROLL
      for (int k = 0; k < V; ++k)
        if (k < left) p[k * to.stride] = v.v[k];
    }
  }
}

/// Calls f(T{}, the width of its tiles) and returns true if tensor cores take this problem, and the device has the
/// shared memory for it: Sizes<T, width>::bytes.
template <template <class, int> class Sizes, class F>
bool on_tensor_cores(const AttentionProblem& a, const F& f) {
  const int64_t width = std::max(a.q.width, a.v.width);
  const auto try_width = [&]<class T, int W>(T type, std::integral_constant<int, W> tile_width) {
    if (Sizes<T, W>::bytes > cuda::most_shared_bytes()) return false;
    f(type, tile_width);
    return true;
  };
  const auto with_width = [&](auto type) {
    if (width <= 64) return try_width(type, std::integral_constant<int, 64>{});
    if (width <= 128) return try_width(type, std::integral_constant<int, 128>{});
    return width <= 256 && try_width(type, std::integral_constant<int, 256>{});
  };
  switch (a.q.dtype) {
    case DType::bfloat16:
      return with_width(bfloat16{});
    case DType::float16:
      return with_width(float16{});
    case DType::float32:
      return allow_tf32() && with_width(float{});
    default:
      return false;
  }
}

}  // namespace
}  // namespace tutti
