// For the attention kernels on tensor cores: tiles of 16-bit numbers in shared memory, products of them by mma.sync,
// and what happens to scores that lie in the products' fragments. A block has 4 warps; a warp has M * 16 rows of the
// scores and all C columns, so that maxima and sums of a row stay in the four lanes of a quad.
#pragma once
#include <cstring>

#include "tutti/backends/cuda/attention.h"

namespace tutti {
namespace {

constexpr int mma_threads = 128;
/// Elements from row to row: 16 bytes more than the width, so that 8 rows meet 32 different banks.
template <int W>
constexpr int mma_pitch = W + 8;

__device__ inline int lane_id() { return static_cast<int>(threadIdx.x) % 32; }
__device__ inline int warp_id() { return static_cast<int>(threadIdx.x) / 32; }

/// d += a b.
template <class T>
__device__ void multiply_tile(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  if constexpr (std::is_same_v<T, bfloat16>)
    ptx::mma_bf16_16x8x16(d, a, b, d);
  else
    ptx::mma_f16_16x8x16(d, a, b, d);
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

/// Whether cp.async can fetch 8 channels at once.
template <class T>
__device__ bool copyable(const Tokens<const T>& x) {
  return x.stride == 1 && x.token_stride % 8 == 0 && reinterpret_cast<uintptr_t>(x.data) % 16 == 0;
}
/// Channels are staged up to a multiple of 16, with zeros.
__device__ inline int steps_of(int64_t width) { return static_cast<int>((width + 15) / 16); }

/// `rows` tokens to shared memory, zeros where there is nothing: by cp.async if memory is in order.
template <class T, int W, int rows>
__device__ void fetch_tile(const Tokens<const T>& x, T* to) {
  const bool async = copyable(x);
  const int chunks = 2 * steps_of(x.width);
#pragma unroll 1
  for (int i = static_cast<int>(threadIdx.x); i < rows * (W / 8); i += mma_threads) {
    const int row = i / (W / 8), chunk = i % (W / 8);
    if (chunk >= chunks) continue;
    const int64_t left = row < x.count ? max(int64_t{0}, min(int64_t{8}, x.width - 8 * chunk)) : 0;
    T* const place = to + row * mma_pitch<W> + 8 * chunk;
    const T* const from = x.data + (left ? row * x.token_stride + 8 * chunk * x.stride : 0);
    if (async) {
      __pipeline_memcpy_async(place, from, 16, 16 - 2 * static_cast<size_t>(left));
    } else {
      Pack<T, 8> v{};
      TUTTI_UNROLL
      for (int k = 0; k < 8; ++k)
        if (k < left) v.v[k] = from[k * x.stride];
      *reinterpret_cast<Pack<T, 8>*>(place) = v;
    }
  }
}
/// Whether what this thread fetched of a tile has something infinite or NaN.
template <class T, int W, int rows>
__device__ bool fetched_not_finite(const T* tile, int64_t width) {
  constexpr unsigned exponent = std::is_same_v<T, bfloat16> ? 0x7f80u : 0x7c00u;
  const int chunks = 2 * steps_of(width);
  bool finite = true;
#pragma unroll 1
  for (int i = static_cast<int>(threadIdx.x); i < rows * (W / 8); i += mma_threads) {
    const int row = i / (W / 8), chunk = i % (W / 8);
    if (chunk >= chunks) continue;
    const auto v = *reinterpret_cast<const Pack<T, 8>*>(tile + row * mma_pitch<W> + 8 * chunk);
    TUTTI_UNROLL
    for (int k = 0; k < 8; ++k) finite &= (v.v[k].bits & exponent) != exponent;
  }
  return !finite;
}

/// A warp's scores: element e of fragment (m, n) is row 16 m + lane / 4 + 8 (e / 2), column 8 n + 2 (lane % 4) + e % 2.
template <int M, int C>
using Fragments = float[M][C / 8][4];

__device__ inline int fragment_row(int m, int e) { return 16 * m + lane_id() / 4 + 8 * (e / 2); }
__device__ inline int fragment_column(int n, int e) { return 8 * n + 2 * (lane_id() % 4) + e % 2; }

/// The warp's rows against all columns of a tile, both [token][channel].
template <class T, int W, int M, int C>
__device__ void multiply_rows(const T* rows, const T* columns, int steps, Fragments<M, C>& scores) {
  TUTTI_UNROLL
  for (auto& row : scores) {
    TUTTI_UNROLL
    for (auto& fragment : row) {
      TUTTI_UNROLL
      for (float& s : fragment) s = 0;
    }
  }
  const int lane = lane_id();
  const T* a_at = rows + (warp_id() * M * 16 + lane % 16) * mma_pitch<W> + lane / 16 * 8;
  const T* b_at = columns + (lane % 8 + lane / 16 * 8) * mma_pitch<W> + lane / 8 % 2 * 8;
  for (int step = 0; step < steps; ++step, a_at += 16, b_at += 16) {
    unsigned a[M][4];
    TUTTI_UNROLL
    for (int m = 0; m < M; ++m) ptx::ldmatrix_x4(a[m], a_at + m * 16 * mma_pitch<W>);
    TUTTI_UNROLL
    for (int n = 0; n < C / 8; n += 2) {
      unsigned b[4];
      ptx::ldmatrix_x4(b, b_at + n * 8 * mma_pitch<W>);
      const unsigned first[2] = {b[0], b[1]}, second[2] = {b[2], b[3]};
      TUTTI_UNROLL
      for (int m = 0; m < M; ++m) {
        multiply_tile<T>(scores[m][n], a[m], first);
        multiply_tile<T>(scores[m][n + 1], a[m], second);
      }
    }
  }
}

/// sums[row][channel] += weights[row][column] x[column][channel]; `x` is the tile from the first wanted channel on,
/// `steps` how many times 16 of them there are. The weights are rounded to T.
template <class T, int W, int M, int C, int P>
__device__ void add_weighted(const Fragments<M, C>& weights, const T* x, int steps, Fragments<M, P>& sums) {
  const int lane = lane_id();
  const T* const at = x + lane % 16 * mma_pitch<W> + lane / 16 * 8;
  TUTTI_UNROLL
  for (int k = 0; k < C / 16; ++k) {
    unsigned a[M][4];
    TUTTI_UNROLL
    for (int m = 0; m < M; ++m) {
      TUTTI_UNROLL
      for (int w = 0; w < 4; ++w) {
        const auto& from = weights[m][2 * k + w / 2];
        a[m][w] = pair_of<T>(from[w % 2 * 2], from[w % 2 * 2 + 1]);
      }
    }
    TUTTI_UNROLL
    for (int n = 0; n < P / 16; ++n)
      if (n < steps) {
        unsigned b[4];
        ptx::ldmatrix_x4_trans(b, at + k * 16 * mma_pitch<W> + n * 16);
        const unsigned first[2] = {b[0], b[1]}, second[2] = {b[2], b[3]};
        TUTTI_UNROLL
        for (int m = 0; m < M; ++m) {
          multiply_tile<T>(sums[m][2 * n], a[m], first);
          multiply_tile<T>(sums[m][2 * n + 1], a[m], second);
        }
      }
  }
}

/// The same where a weight of 0 hides what it multiplies, even infinity and NaN. Slow: weights go round the quad.
template <class T, int W, int M, int C, int P>
__device__ void add_weighted_hiding(const Fragments<M, C>& weights, const T* x, int steps, Fragments<M, P>& sums) {
  const int quad = lane_id() / 4 * 4;
  TUTTI_UNROLL
  for (int k = 0; k < C / 8; ++k)
    for (int j = 0; j < 8; ++j) {
      const T* const from = x + (8 * k + j) * mma_pitch<W> + 2 * (lane_id() % 4);
      TUTTI_UNROLL
      for (int m = 0; m < M; ++m) {
        TUTTI_UNROLL
        for (int side = 0; side < 2; ++side) {
          const auto& w = weights[m][k];
          const float p = __shfl_sync(~0u, j % 2 ? w[2 * side + 1] : w[2 * side], quad + j / 2);
          TUTTI_UNROLL
          for (int n = 0; n < P / 8; ++n) {
            if (n < 2 * steps && p != 0) {
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
/// `from` on. `to` begins at the block's rows, and so does `room`: a tile of which the warp's rows are free, by way of
/// which whole sectors of memory are written.
template <int W, int M, int P, class T, class F>
__device__ void store_fragments(const Fragments<M, P>& sums, T* room, const Tokens<T>& to, int64_t from,
                                const F& factor) {
  const int first = warp_id() * M * 16;
  __syncwarp();
  TUTTI_UNROLL
  for (int m = 0; m < M; ++m) {
    TUTTI_UNROLL
    for (int side = 0; side < 2; ++side) {
      const float f = factor(m, side);
      T* const row = room + (first + fragment_row(m, 2 * side)) * mma_pitch<W>;
      TUTTI_UNROLL
      for (int n = 0; n < P / 8; ++n)
        *reinterpret_cast<unsigned*>(row + fragment_column(n, 0)) =
            pair_of<T>(sums[m][n][2 * side] * f, sums[m][n][2 * side + 1] * f);
    }
  }
  __syncwarp();
  const bool packed = packable<8>(to);
#pragma unroll 1
  for (int i = lane_id(); i < M * 16 * (P / 8); i += 32) {
    const int row = first + i / (P / 8), chunk = i % (P / 8) * 8;
    const int64_t left = to.width - from - chunk;
    if (row >= to.count || left <= 0) continue;
    const auto v = *reinterpret_cast<const Pack<T, 8>*>(room + row * mma_pitch<W> + chunk);
    T* const p = to.data + row * to.token_stride + (from + chunk) * to.stride;
    if (packed) {
      *reinterpret_cast<Pack<T, 8>*>(p) = v;
    } else {
      TUTTI_UNROLL
      for (int k = 0; k < 8; ++k)
        if (k < left) p[k * to.stride] = v.v[k];
    }
  }
}

}  // namespace
}  // namespace tutti
