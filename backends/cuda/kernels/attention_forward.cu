// Fused attention, forward, on multiply-adds: any dtype, width and strides. A block has 64 queries of one head and up
// to 16 N channels of the result; wider ones are made in parts, which repeat the scores.
#include "tutti/backends/cuda/attention_tile.h"

namespace tutti {
namespace {

/// Over the 16 threads that share rows.
template <class Op, class C>
__device__ C reduce_row(Op op, C v) {
  TUTTI_UNROLL
  for (int offset = 8; offset; offset >>= 1) v = op(v, __shfl_xor_sync(~0u, v, offset));
  return v;
}
struct Greater {  // which ignores NaN: the weight of a score that is NaN is NaN anyway
  template <class C>
  __device__ C operator()(C a, C b) const {
    return max(a, b);
  }
};
struct Plus {
  template <class C>
  __device__ C operator()(C a, C b) const {
    return a + b;
  }
};

/// Scores to weights 2^(score - best so far). What was summed before is multiplied by what that changes.
template <int N, class C>
__device__ void softmax(C (&scores)[thread_rows<C>][tile_columns], C (&best)[thread_rows<C>], C (&sums)[thread_rows<C>],
                        C (&out)[thread_rows<C>][N]) {
  TUTTI_UNROLL
  for (int i = 0; i < thread_rows<C>; ++i) {
    auto& s = scores[i];
    const C top = max(best[i], reduce_row(Greater{}, max(max(s[0], s[1]), max(s[2], s[3]))));
    const C safe = top == -infinity<C> ? C(0) : top;  // all masked so far: the weights become 2^-inf = 0
    const C factor = power_of_two(best[i] - safe);
    TUTTI_UNROLL
    for (C& x : s) x = power_of_two(x - safe);
    best[i] = top;
    sums[i] = multiply_add(sums[i], factor, (s[0] + s[1]) + (s[2] + s[3]));  // of this thread's columns
    TUTTI_UNROLL
    for (int n = 0; n < N; ++n) out[i][n] *= factor;
  }
}

template <class T, int N, class C = compute_t<T>>
__device__ void attend(const AttentionProblem& a, const Heads& y, C* log_sums, int64_t b, int64_t h, int64_t query,
                       int64_t from, const TileMemory<C, N>& memory) {
  constexpr int R = thread_rows<C>;
  const int64_t kv_head = h / (a.q.heads / a.k.heads);
  const auto queries = tokens_at<const T>(a.q, b, h, query, tile);
  const int64_t first_query = query + first_row<C>();
  C best[R], sums[R], out[R][N];
  TUTTI_UNROLL
  for (int i = 0; i < R; ++i) {
    best[i] = -infinity<C>;
    sums[i] = C(0);
    TUTTI_UNROLL
    for (int n = 0; n < N; ++n) out[i][n] = C(0);
  }
  const Range keys = seen_keys(a, query, queries.count, tile);
  for (int64_t key = keys.begin; key < keys.end; key += tile) {
    const auto k = tokens_at<const T>(a.k, b, kv_head, key, tile);
    const Sight seen = sight(a, query, queries.count, key, k.count);
    if (seen == Sight::none) continue;
    C scores[R][tile_columns];
    product(queries, static_cast<C>(a.scale * log2_e), k, C(1), memory, scores);
    const bool masked = seen == Sight::some || a.mask.data;
    if (masked || k.count < tile) add_bias<false, T>(a, b, h, query, key, memory.weights, scores);
    softmax<N>(scores, best, sums, out);
    if (a.dropout > 0) {
      draw_factors<false>(a, b, h, query, key, memory.weights);
      const C* factor = memory.weights + threadIdx.x;
      TUTTI_UNROLL
      for (auto& row : scores) {
        TUTTI_UNROLL
        for (C& s : row) {
          s *= *factor;
          factor += tile_threads<C>;
        }
      }
    }
    __syncthreads();  // those places become weights
    store_weights(scores, memory.weights);
    add_weighted<N>(tokens_at<const T>(a.v, b, kv_head, key, tile), from, masked, memory, out);
  }
  const int64_t rows = a.q.batches * a.q.heads * a.q.tokens, row = (b * a.q.heads + h) * a.q.tokens + first_query;
  TUTTI_UNROLL
  for (int i = 0; i < R; ++i) {
    sums[i] = reduce_row(Plus{}, sums[i]);
    if (from == 0 && threadIdx.x % 16 == 0 && first_row<C>() + i < queries.count)
      store_log_sum(log_sums, rows, row + i, best[i], sums[i]);
  }
  store_rows<N>(out, tokens_at<T>(y, b, h, query, tile), from,
                [&](int i) { return sums[i] == C(0) ? C(0) : 1 / sums[i]; });
}

/// Of a multiprocessor, by which registers are given out.
template <class C>
constexpr int resident_blocks(int N) {
  return sizeof(C) == 8 ? 1 : N < 4 ? 3 : 2;
}

template <class T, int N>
__global__ void __launch_bounds__(tile_threads<compute_t<T>>, resident_blocks<compute_t<T>>(N))
    forward_kernel(AttentionProblem a, Heads y, compute_t<T>* log_sums, int64_t tiles, int64_t parts, int64_t items) {
  SHARED_DYN(compute_t<T>, memory);
  for (int64_t item = blockIdx.x; item < items; item += gridDim.x) {
    // The last queries see most if attention is causal: they begin.
    const int64_t part = item % parts, query = tiles - 1 - item / parts % tiles, head = item / parts / tiles;
    attend<T, N>(a, y, log_sums, head / a.q.heads, head % a.q.heads, query * tile, part * 16 * N,
                 TileMemory<compute_t<T>, N>(memory));
  }
}

template <class T, int N>
void forward(const AttentionProblem& a, const Heads& y, void* log_sums) {
  using C = compute_t<T>;
  constexpr size_t bytes = TileMemory<C, N>::bytes();
  const int64_t tiles = tiles_of(a.q.tokens, tile), parts = std::max<int64_t>(1, tiles_of(a.v.width, 16 * N));
  const int64_t items = a.q.batches * a.q.heads * tiles * parts;
  if (items == 0) return;
  cuda::check(allow_shared(forward_kernel<T, N>, bytes), "cudaFuncSetAttribute");
  start(forward_kernel<T, N>, blocks_for_tiles(items), tile_threads<C>, bytes, a, y, static_cast<C*>(log_sums), tiles,
        parts, items);
}

}  // namespace

template <>
void kernel::attention_forward::run<Here>(const AttentionProblem& a, const Heads& y, void* log_sums) {
  if (cuda::tensor_core_attention_forward(a, y, static_cast<float*>(log_sums))) return;
  switch (a.q.dtype) {
    case DType::float64:
      return forward<double, 4>(a, y, log_sums);
    case DType::bfloat16:
      return forward<bfloat16, 8>(a, y, log_sums);
    case DType::float16:
      return forward<float16, 8>(a, y, log_sums);
    default:
      if (a.v.width <= 32) return forward<float, 2>(a, y, log_sums);
      if (a.v.width <= 64) return forward<float, 4>(a, y, log_sums);
      return forward<float, 8>(a, y, log_sums);
  }
}

}  // namespace tutti
