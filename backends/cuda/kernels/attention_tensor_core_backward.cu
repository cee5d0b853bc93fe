// Fused attention, backward, on tensor cores: bfloat16, float16 and, where allow_tf32(), float32; widths up to 256, any
// strides. A block has 64 rows and goes through the columns, whose next tile comes by cp.async: rows are queries for
// dq, keys for dk and dv. Gradients of more than 128 channels are made in two parts, by two warps that both compute the
// scores: the block has 32 rows then. Sums are float32; the weights and the gradients of the scores are rounded to the
// inputs' type (float32: everything that is multiplied to TF32) before they multiply. (With float16, gradients of
// scores beyond 65504 are infinite.)
//
// On paper, an H200 (132 multiprocessors of 65536 registers and 227 KB of shared memory), a block of 4 warps:
//   width, float32  rows  columns  shared memory  blocks
//      64             64       32          46 KB  3 of rows that are queries, 2 of keys (by registers): 12 and 8 warps
//     128       64    64       32          79 KB  2
//     256             32       32         111 KB  2
//              128    64       16         106 KB  2
//              256    32       16         138 KB  1
// A step of 16 channels takes (16 + 32) * 32 bytes from shared memory for 4 products of 16 x 8 x 16: 3 cycles a
// product, where the tensor cores take 1 to 2. Warps with 32 rows, or tiles of 64 columns, would have 2 to 2.5 and not
// the registers. A step of float32 is 8 channels, and its products, 16 x 8 x 8, take the tensor cores as long; with 16
// columns it is 4 cycles a product. Sums over columns take 2.
#include "tutti/backends/cuda/attention_mma.h"

namespace tutti {
namespace {

template <class T, int W>
struct Sizes {
  static constexpr int part = W <= 128 ? W : 128;  // of the gradients' channels
  static constexpr int row_warps = mma_threads / 32 * part / W, rows = 16 * row_warps;
  static constexpr int columns = is_half<T> || W <= 64 ? 32 : 16;
  static constexpr int tile = columns * mma_pitch<T, W>;  // elements
  static constexpr size_t bytes = sizeof(T) * (2 * rows * mma_pitch<T, W> + 4 * size_t{tile}) +
                                  sizeof(float) * mma_threads * (columns / 2) +
                                  sizeof(QueryNumbers<float>) * 2 * columns;
};

/// Of a multiprocessor, by which registers are given out.
template <class T>
constexpr int resident_blocks(int width, bool rows_are_keys) {
  if (width * sizeof(T) > 512) return 1;
  return width > 64 || rows_are_keys || !is_half<T> ? 2 : 3;
}

struct Input {
  AttentionProblem problem;
  ConstHeads d_out;
  const float *log_sums, *delta;
};

/// Turns scores and products dO v into P (with dropout: as used for v) and dS = P (dP - delta).
template <bool rows_are_keys, int C, class F>
__device__ void score_gradients(Fragments<1, C>& scores, Fragments<1, C>& grads, bool dropout, uint64_t kept,
                                float drop_scale, const F& numbers) {
  TUTTI_UNROLL
  for (int n = 0; n < C / 8; ++n) {
    TUTTI_UNROLL
    for (int e = 0; e < 4; ++e) {
      const QueryNumbers<float> q = numbers(n, e);
      float &s = scores[0][n][e], &g = grads[0][n][e];
      const float factor = dropout ? kept >> (4 * n + e) & 1 ? drop_scale : 0.0f : 1.0f;
      const float p = power_of_two(at_most(q.most, s - q.base) - q.rest);
      const bool hidden = s == -infinity<float>;
      g = hidden ? 0.0f : p * (g * factor - q.delta);
      s = hidden ? 0.0f : p * factor;
    }
  }
}

template <class T, int W, int C, int P>
__device__ void add_product(bool hiding, const Fragments<1, C>& weights, const T* x, int channels,
                            Fragments<1, P>& sums) {
  if (hiding)
    add_weighted_hiding<T, W, 1, C, P>(weights, x, channels, sums);
  else
    add_weighted<T, W, 1, C, P>(weights, x, channels, sums);
}

template <int P>
__device__ void clear(Fragments<1, P>& sums) {
  TUTTI_UNROLL
  for (auto& fragment : sums[0]) fragment[0] = fragment[1] = fragment[2] = fragment[3] = 0;
}

/// d1 is dq, or dk if rows are keys; then d2 is dv.
template <bool rows_are_keys, class T, int W>
__global__ void __launch_bounds__(mma_threads, resident_blocks<T>(W, rows_are_keys))
    tensor_core_backward_kernel(Input in, Heads d1, Heads d2, int64_t tiles, int64_t items) {
  using S = Sizes<T, W>;
  constexpr int R = S::rows, C = S::columns, P = S::part;
  SHARED_DYN(T, memory);
  T *const rows1 = memory, *const rows2 = rows1 + R * mma_pitch<T, W>;  // q and dO, or k and v
  T* const stages = rows2 + R * mma_pitch<T, W>;                        // two of k and v, or q and dO
  auto* const staged_numbers = reinterpret_cast<QueryNumbers<float>*>(stages + 4 * S::tile);
  float* const places = reinterpret_cast<float*>(staged_numbers + 2 * C) + warp_id() * 32 * (C / 2);
  const int warp = __shfl_sync(~0u, warp_id(), 0);  // so that the compiler knows: all lanes have the same
  const int first_row = warp % S::row_warps * 16, from = warp / S::row_warps * P;
  T *const warp_rows1 = rows1 + first_row * mma_pitch<T, W>, *const warp_rows2 = rows2 + first_row * mma_pitch<T, W>;
  const AttentionProblem& a = in.problem;
  const int64_t group = a.q.heads / a.k.heads, row_heads = rows_are_keys ? a.k.heads : a.q.heads;
  const float drop_scale = kept_factor<float>(a);
  for (int64_t item = blockIdx.x; item < items; item += gridDim.x) {
    const int64_t tile = item % tiles, b = item / tiles / row_heads, row_head = item / tiles % row_heads;
    // The last queries and the first keys have most to do if attention is causal: they begin.
    const int64_t row = (rows_are_keys ? tile : tiles - 1 - tile) * R;
    const auto x1 = tokens_at<const T>(rows_are_keys ? a.k : a.q, b, row_head, row, R);
    const auto x2 = tokens_at<const T>(rows_are_keys ? a.v : in.d_out, b, row_head, row, R);
    const Range range = rows_are_keys ? seeing_queries(a, row, x1.count, C) : seen_keys(a, row, x1.count, C);
    const int64_t last_head = rows_are_keys ? (row_head + 1) * group - 1 : row_head / group;  // of the columns
    int64_t next_head = rows_are_keys ? row_head * group : last_head, next = range.begin;
    Sight next_seen = Sight::none;
    bool more = true;
    const auto find = [&] {  // from `next` on, the next tile of columns of which something is seen
      for (;; next += C) {
        if (next >= range.end) {
          if (next_head == last_head || range.begin >= range.end) break;
          ++next_head;
          next = range.begin;
        }
        next_seen = rows_are_keys ? sight(a, next, min(int64_t{C}, a.q.tokens - next), row, x1.count)
                                  : sight(a, row, x1.count, next, min(int64_t{C}, a.k.tokens - next));
        if (next_seen != Sight::none) return;
      }
      more = false;
    };
    const auto fetch = [&](int stage) {
      T* const to = stages + 2 * stage * S::tile;
      fetch_tile<T, W, C>(tokens_at<const T>(rows_are_keys ? a.q : a.k, b, next_head, next, C), to);
      fetch_tile<T, W, C>(tokens_at<const T>(rows_are_keys ? in.d_out : a.v, b, next_head, next, C), to + S::tile);
      __pipeline_commit();
      if (rows_are_keys && static_cast<int>(threadIdx.x) < C)
        staged_numbers[stage * C + threadIdx.x] =
            query_numbers(a, in.log_sums, in.delta, b, next_head, next + threadIdx.x);
    };
    const int64_t warp_row = row + first_row;
    const bool want1 = d1.data && from < d1.width, want2 = rows_are_keys && d2.data && from < d2.width;
    Fragments<1, P> sums1, sums2;
    clear<P>(sums1);
    if constexpr (rows_are_keys) clear<P>(sums2);
    QueryNumbers<float> of_row[2];
    if constexpr (!rows_are_keys) {
      TUTTI_UNROLL
      for (int side = 0; side < 2; ++side)
        of_row[side] = query_numbers(a, in.log_sums, in.delta, b, row_head, warp_row + fragment_row(0, 2 * side));
    }
    __syncthreads();  // the memory may still be read for the item before
    fetch_tile<T, W, R>(x1, rows1);
    fetch_tile<T, W, R>(x2, rows2);
    __pipeline_commit();
    find();
    if (more) fetch(0);
    __pipeline_wait_prior(0);
    settle_tile<T, W, R>(rows1, a.q.width, false);
    settle_tile<T, W, R>(rows2, a.v.width, false);
    for (int stage = 0; more; stage ^= 1) {
      const int64_t column = next, h = rows_are_keys ? next_head : row_head;
      const bool masked = next_seen == Sight::some || a.mask.data;
      T *const c1 = stages + 2 * stage * S::tile, *const c2 = c1 + S::tile;
      __pipeline_wait_prior(0);
      bool not_finite = settle_tile<T, W, C>(c1, a.q.width, masked);
      not_finite |= settle_tile<T, W, C>(c2, a.v.width, rows_are_keys && masked);
      // All have this tile now, and have done with the one before.
      const bool hiding = __syncthreads_or(not_finite) != 0;
      next += C;
      find();
      if (more) fetch(stage ^ 1);
      if (first_row >= x1.count) continue;
      const uint64_t kept = a.dropout > 0 ? draw_kept<rows_are_keys, 1, C>(a, b, h, warp_row, column, places) : 0;
      Fragments<1, C> scores, grads;
      multiply_rows<T, W, 1, C>(warp_rows1, c1, static_cast<int>(a.q.width), scores);
      // Columns that are keys and not there have to be hidden; queries that are not there have weights of 0.
      const bool hanging_over = !rows_are_keys && a.k.tokens - column < C;
      scale_scores<rows_are_keys, T, 1, C>(a, b, h, warp_row, column, masked || hanging_over, places, scores);
      multiply_rows<T, W, 1, C>(warp_rows2, c2, static_cast<int>(a.v.width), grads);
      score_gradients<rows_are_keys, C>(scores, grads, a.dropout > 0, kept, drop_scale, [&](int n, int e) {
        if constexpr (rows_are_keys)
          return staged_numbers[stage * C + fragment_column(n, e)];
        else
          return of_row[e / 2];
      });
      if constexpr (rows_are_keys)
        if (want2) add_product<T, W, C, P>(hiding, scores, c2 + from, static_cast<int>(a.v.width) - from, sums2);
      if (want1) add_product<T, W, C, P>(hiding, grads, c1 + from, static_cast<int>(a.q.width) - from, sums1);
    }
    __syncthreads();  // rows that nothing is seen of have met no barrier yet, and warps may share rows
    const auto scale = static_cast<float>(a.scale);
    if (want1)
      store_fragments<W, 1, P>(sums1, warp_rows1 + from, tokens_at<T>(d1, b, row_head, warp_row, 16), from,
                               [&](int, int) { return scale; });
    if constexpr (rows_are_keys)
      if (want2)
        store_fragments<W, 1, P>(sums2, warp_rows2 + from, tokens_at<T>(d2, b, row_head, warp_row, 16), from,
                                 [](int, int) { return 1.0f; });
  }
}

template <bool rows_are_keys, class T, int W>
void gradient(const Input& in, const Heads& d1, const Heads& d2) {
  using S = Sizes<T, W>;
  const ConstHeads& rows = rows_are_keys ? in.problem.k : in.problem.q;
  const bool wanted = (d1.data && d1.width > 0) || (d2.data && d2.width > 0);
  const int64_t tiles = tiles_of(rows.tokens, S::rows), items = rows.batches * rows.heads * tiles;
  if (!wanted || items == 0) return;
  cuda::check(allow_shared(tensor_core_backward_kernel<rows_are_keys, T, W>, S::bytes), "cudaFuncSetAttribute");
  start(tensor_core_backward_kernel<rows_are_keys, T, W>, blocks_for_tiles(items), mma_threads, S::bytes, in, d1, d2,
        tiles, items);
}

}  // namespace

bool cuda::tensor_core_attention_backward(const AttentionProblem& a, const float* log_sums, const float* delta,
                                          const ConstHeads& d_out, const Heads& dq, const Heads& dk, const Heads& dv) {
  const Input in{a, d_out, log_sums, delta};
  return on_tensor_cores<Sizes>(a, [&]<class T, int W>(T, std::integral_constant<int, W>) {
    gradient<false, T, W>(in, dq, {});
    gradient<true, T, W>(in, dk, dv);
  });
}

}  // namespace tutti
