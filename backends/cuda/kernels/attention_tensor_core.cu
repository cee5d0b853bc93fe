// Fused attention, forward, on tensor cores: bfloat16, float16 and, where allow_tf32(), float32; widths up to 256, any
// strides. While a tile of keys and values is computed with, the next one comes by cp.async. Sums are float32, the
// weights are rounded to the inputs' type (float32: everything that is multiplied to TF32) before they multiply v.
//
// On paper, an H200 (132 multiprocessors of 65536 registers and 227 KB of shared memory), a block of 4 warps:
//   width, float32  queries  keys  shared memory  blocks by registers (about)  blocks
//      64               128    64          87 KB  2 (at most 255 each)         2: 8 warps
//     128       64      128    32          86 KB  2                            2: 8 warps
//     256      128       64    32         110 KB  2                            2: 8 warps
//              256       64    16         137 KB  2                            1: 4 warps
// From shared memory, a step of 16 channels takes (32 + 64) * 32 bytes for 16 products of 16 x 8 x 16 at width 64: 1.5
// cycles a product, where the tensor cores take 1 to 2. From global memory, a tile of 128 queries reads each key once:
// 128 multiply-adds for a number, 64 a byte; keys and values of the heads at work (of 2048 tokens and width 128: 1 MB
// each) stay in the L2.
// A step of float32 is 8 channels, and its products, 16 x 8 x 8, take the tensor cores as long: scores take 2 cycles
// from shared memory at width 64, 3 at 128 and 4 at 256, weighted sums 1, 2 and 2, and rounding the tiles half a cycle
// to one. 32 multiply-adds a byte at width 64, beyond it 16.
#include "tutti/backends/cuda/attention_mma.h"

namespace tutti {
namespace {

template <class T, int W>
struct Sizes {
  static constexpr size_t token = W * sizeof(T);
  static constexpr int M = token <= 256 ? 2 : 1, queries = 4 * 16 * M;
  static constexpr int keys = token <= 128 ? 64 : token <= 512 ? 32 : 16;
  static constexpr int tile = keys * mma_pitch<T, W>;  // elements
  static constexpr size_t bytes =
      sizeof(T) * (queries * mma_pitch<T, W> + 4 * size_t{tile}) + sizeof(float) * mma_threads * (M * keys / 2);
};

/// Over the four lanes that share rows.
__device__ inline float quad_max(float v) {
  v = max(v, __shfl_xor_sync(~0u, v, 1));
  return max(v, __shfl_xor_sync(~0u, v, 2));
}
__device__ inline float quad_sum(float v) {
  v += __shfl_xor_sync(~0u, v, 1);
  return v + __shfl_xor_sync(~0u, v, 2);
}

/// Scores to weights 2^(score - best so far). What was summed before is multiplied by what that changes.
template <int M, int C, int P>
__device__ void softmax(Fragments<M, C>& scores, float (&best)[M][2], float (&sums)[M][2], Fragments<M, P>& out) {
  TUTTI_UNROLL
  for (int m = 0; m < M; ++m) {
    TUTTI_UNROLL
    for (int side = 0; side < 2; ++side) {
      float top = -infinity<float>;  // NaN is ignored: the weight of such a score is NaN anyway
      TUTTI_UNROLL
      for (int n = 0; n < C / 8; ++n) top = max(top, max(scores[m][n][2 * side], scores[m][n][2 * side + 1]));
      top = max(best[m][side], quad_max(top));
      const float safe = top == -infinity<float> ? 0.0f : top;  // all masked so far: the weights become 2^-inf = 0
      const float factor = power_of_two(best[m][side] - safe);
      float sum = 0;  // of this lane's columns
      TUTTI_UNROLL
      for (int n = 0; n < C / 8; ++n) {
        TUTTI_UNROLL
        for (int e = 2 * side; e < 2 * side + 2; ++e) sum += scores[m][n][e] = power_of_two(scores[m][n][e] - safe);
      }
      best[m][side] = top;
      sums[m][side] = fmaf(sums[m][side], factor, sum);
      TUTTI_UNROLL
      for (int n = 0; n < P / 8; ++n) {
        out[m][n][2 * side] *= factor;
        out[m][n][2 * side + 1] *= factor;
      }
    }
  }
}

template <class T, int W>
__global__ void __launch_bounds__(mma_threads)
    tensor_core_forward_kernel(AttentionProblem a, Heads y, float* log_sums, int64_t tiles, int64_t items) {
  using S = Sizes<T, W>;
  constexpr int M = S::M, C = S::keys;
  SHARED_DYN(T, memory);
  T *const queries = memory, *const warp_queries = queries + warp_id() * 16 * M * mma_pitch<T, W>;
  T* const stages = queries + S::queries * mma_pitch<T, W>;  // two of k and v
  float* const places = reinterpret_cast<float*>(stages + 4 * S::tile) + warp_id() * 32 * (M * C / 2);
  const float drop_scale = kept_factor<float>(a);
  for (int64_t item = blockIdx.x; item < items; item += gridDim.x) {
    // The last queries see most if attention is causal: they begin.
    const int64_t query = (tiles - 1 - item % tiles) * S::queries, head = item / tiles;
    const int64_t b = head / a.q.heads, h = head % a.q.heads, kv_head = h / (a.q.heads / a.k.heads);
    const auto q = tokens_at<const T>(a.q, b, h, query, S::queries);
    const int64_t warp_row = query + warp_id() * 16 * M;
    const Range keys = seen_keys(a, query, q.count, C);
    Sight next_seen = Sight::none;
    const auto find = [&](int64_t key) {  // the next tile that is seen
      for (; key < keys.end; key += C)
        if ((next_seen = sight(a, query, q.count, key, min(int64_t{C}, a.k.tokens - key))) != Sight::none) break;
      return key;
    };
    const auto fetch = [&](int64_t key, int stage) {
      fetch_tile<T, W, C>(tokens_at<const T>(a.k, b, kv_head, key, C), stages + 2 * stage * S::tile);
      fetch_tile<T, W, C>(tokens_at<const T>(a.v, b, kv_head, key, C), stages + (2 * stage + 1) * S::tile);
      __pipeline_commit();
    };
    float best[M][2], sums[M][2];
    Fragments<M, W> out;
    TUTTI_UNROLL
    for (int m = 0; m < M; ++m) {
      best[m][0] = best[m][1] = -infinity<float>;
      sums[m][0] = sums[m][1] = 0;
      TUTTI_UNROLL
      for (auto& fragment : out[m]) fragment[0] = fragment[1] = fragment[2] = fragment[3] = 0;
    }
    __syncthreads();  // the memory may still be read for the item before
    fetch_tile<T, W, S::queries>(q, queries);
    __pipeline_commit();
    int64_t next = find(keys.begin);
    if (next < keys.end) fetch(next, 0);
    __pipeline_wait_prior(0);
    settle_tile<T, W, S::queries>(queries, a.q.width, false);
    for (int stage = 0; next < keys.end; stage ^= 1) {
      const int64_t key = next;
      const Sight seen = next_seen;
      T *const k = stages + 2 * stage * S::tile, *const v = k + S::tile;
      const bool masked = seen == Sight::some || a.mask.data;
      __pipeline_wait_prior(0);
      settle_tile<T, W, C>(k, a.q.width, false);
      // All have this tile now, and have done with the one before.
      const bool hiding = __syncthreads_or(settle_tile<T, W, C>(v, a.v.width, masked)) != 0;
      next = find(key + C);
      if (next < keys.end) fetch(next, stage ^ 1);
      if (warp_row >= a.q.tokens) continue;
      const uint64_t kept = a.dropout > 0 ? draw_kept<false, M, C>(a, b, h, warp_row, key, places) : 0;
      Fragments<M, C> scores;
      multiply_rows<T, W, M, C>(warp_queries, k, static_cast<int>(a.q.width), scores);
      scale_scores<false, T, M, C>(a, b, h, warp_row, key, masked || a.k.tokens - key < C, places, scores);
      softmax<M, C, W>(scores, best, sums, out);
      if (a.dropout > 0) {
        TUTTI_UNROLL
        for (int m = 0; m < M; ++m) {
          TUTTI_UNROLL
          for (int i = 0; i < C / 2; ++i) scores[m][i / 4][i % 4] *= kept >> (m * C / 2 + i) & 1 ? drop_scale : 0.0f;
        }
      }
      if (hiding)
        add_weighted_hiding<T, W, M, C, W>(scores, v, static_cast<int>(a.v.width), out);
      else
        add_weighted<T, W, M, C, W>(scores, v, static_cast<int>(a.v.width), out);
    }
    __syncthreads();  // queries that see nothing have met no barrier yet
    const int64_t rows = a.q.batches * a.q.heads * a.q.tokens;
    TUTTI_UNROLL
    for (int m = 0; m < M; ++m) {
      TUTTI_UNROLL
      for (int side = 0; side < 2; ++side) {
        sums[m][side] = quad_sum(sums[m][side]);
        const int64_t row = warp_row + fragment_row(m, 2 * side);
        if (lane_id() % 4 == 0 && row < a.q.tokens)
          store_log_sum(log_sums, rows, head * a.q.tokens + row, best[m][side], sums[m][side]);
      }
    }
    store_fragments<W, M, W>(out, warp_queries, tokens_at<T>(y, b, h, warp_row, 16 * M), 0,
                             [&](int m, int side) { return sums[m][side] == 0 ? 0.0f : 1 / sums[m][side]; });
  }
}

template <class T, int W>
void forward(const AttentionProblem& a, const Heads& y, float* log_sums) {
  using S = Sizes<T, W>;
  const int64_t tiles = tiles_of(a.q.tokens, S::queries), items = a.q.batches * a.q.heads * tiles;
  if (items == 0) return;
  cuda::check(allow_shared(tensor_core_forward_kernel<T, W>, S::bytes), "cudaFuncSetAttribute");
  start(tensor_core_forward_kernel<T, W>, blocks_for_tiles(items), mma_threads, S::bytes, a, y, log_sums, tiles, items);
}

}  // namespace

bool cuda::tensor_core_attention_forward(const AttentionProblem& a, const Heads& y, float* log_sums) {
  return on_tensor_cores<Sizes>(
      a, [&]<class T, int W>(T, std::integral_constant<int, W>) { forward<T, W>(a, y, log_sums); });
}

}  // namespace tutti
