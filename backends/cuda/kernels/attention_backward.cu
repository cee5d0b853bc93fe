// Fused attention, backward, on multiply-adds: the weights are computed again from the saved sums. One kernel sums over
// the keys of a block of queries (dq), one over the queries of a block of keys (dk and dv), so that every sum has its
// order. A block makes up to 16 N channels of the gradients; wider ones are made in parts, which repeat the scores.
#include "tutti/backends/cuda/attention_tile.h"
#include "tutti/backends/cuda/lines.h"

namespace tutti {
namespace {

constexpr int delta_threads = 256;

/// delta = the sum over channels of dO O, which is the sum over keys of P dP. A query per team: in the same order with
/// packs and without.
template <class T>
__global__ void delta_kernel(ConstHeads y, ConstHeads dy, compute_t<T>* delta, int64_t rows, Team team) {
  using C = compute_t<T>;
  constexpr int V = 16 / static_cast<int>(sizeof(T));
  for (int64_t first = int64_t{blockIdx.x} * team.per_block(); first < rows;
       first += int64_t{gridDim.x} * team.per_block()) {
    const int64_t row = first + team.number();
    C sum(0);
    if (row < rows) {
      const int64_t b = row / y.tokens / y.heads, h = row / y.tokens % y.heads, i = row % y.tokens;
      const auto out = tokens_at<const T>(y, b, h, i, 1), d_out = tokens_at<const T>(dy, b, h, i, 1);
      const bool packed = packable<V>(out) && packable<V>(d_out);
      for (int64_t c = team.rank() * V; c < y.width; c += team.size * V) {
        C v[V] = {}, d[V] = {};
        if (packed) {
          load_pack<V>(out.data + c, v);
          load_pack<V>(d_out.data + c, d);
        } else {
          TUTTI_UNROLL
          for (int k = 0; k < V; ++k) {
            if (c + k >= y.width) continue;
            v[k] = load(out.data + (c + k) * out.stride);
            d[k] = load(d_out.data + (c + k) * d_out.stride);
          }
        }
        TUTTI_UNROLL
        for (int k = 0; k < V; ++k) sum = multiply_add(v[k], d[k], sum);
      }
    }
    sum = team.sum(sum);
    if (row < rows && team.rank() == 0) delta[row] = sum;
  }
}

/// Everything that the backward pass reads, for host and kernels.
template <class C>
struct BackwardInput {
  AttentionProblem problem;
  ConstHeads d_out;
  const C *log_sums, *delta;
};

/// In `scores` become P (with dropout: as used for v), in `grads` dS = P (dP - delta).
template <bool rows_are_keys, class T, class C = compute_t<T>>
__device__ void score_gradients(const BackwardInput<C>& in, int64_t b, int64_t h, int64_t query, int64_t key,
                                bool masked, C* places, C (&scores)[thread_rows<C>][tile_columns],
                                C (&grads)[thread_rows<C>][tile_columns]) {
  constexpr int R = thread_rows<C>, queries = rows_are_keys ? tile_columns : R, keys = rows_are_keys ? R : tile_columns;
  const AttentionProblem& a = in.problem;
  if (masked) add_bias<rows_are_keys, T>(a, b, h, query, key, places, scores);
  if (a.dropout > 0) draw_factors<rows_are_keys>(a, b, h, query, key, places);
  const C* const factors = places + threadIdx.x;
  TUTTI_UNROLL
  for (int i = 0; i < queries; ++i) {
    const QueryNumbers<C> q =
        query_numbers(a, in.log_sums, in.delta, b, h, query + (rows_are_keys ? first_column() : first_row<C>()) + i);
    TUTTI_UNROLL
    for (int j = 0; j < keys; ++j) {
      const int row = rows_are_keys ? j : i, column = rows_are_keys ? i : j;
      C &s = scores[row][column], &g = grads[row][column];
      const C factor = a.dropout > 0 ? factors[(row * tile_columns + column) * tile_threads<C>] : C(1);
      const C p = power_of_two(at_most(q.most, s - q.base) - q.rest);
      const bool hidden = s == -infinity<C>;
      g = hidden ? C(0) : p * (g * factor - q.delta);
      s = hidden ? C(0) : p * factor;
    }
  }
  __syncthreads();  // those places become weights
}

template <class C, int N>
__device__ void clear(C (&sums)[thread_rows<C>][N]) {
  TUTTI_UNROLL
  for (auto& row : sums) {
    TUTTI_UNROLL
    for (C& x : row) x = C(0);
  }
}

/// Of a multiprocessor: up to 255 registers of a thread, so that none spills.
template <class C>
constexpr int resident_blocks = sizeof(C) == 8 ? 1 : 2;

/// dq of 64 queries, channels from `from` on.
template <class T, int N>
__global__ void __launch_bounds__(tile_threads<compute_t<T>>, resident_blocks<compute_t<T>>)
    query_gradient_kernel(BackwardInput<compute_t<T>> in, Heads dq, int64_t tiles, int64_t parts, int64_t items) {
  using C = compute_t<T>;
  SHARED_DYN(C, memory_start);
  const TileMemory<C, N> memory(memory_start);
  const AttentionProblem& a = in.problem;
  for (int64_t item = blockIdx.x; item < items; item += gridDim.x) {
    // The last queries see most if attention is causal: they begin.
    const int64_t from = item % parts * 16 * N, query = (tiles - 1 - item / parts % tiles) * tile,
                  head = item / parts / tiles;
    const int64_t b = head / a.q.heads, h = head % a.q.heads, kv_head = h / (a.q.heads / a.k.heads);
    const auto q = tokens_at<const T>(a.q, b, h, query, tile), d_out = tokens_at<const T>(in.d_out, b, h, query, tile);
    C sums[thread_rows<C>][N];
    clear(sums);
    const Range seen_by_some = seen_keys(a, query, q.count, tile);
    for (int64_t key = seen_by_some.begin; key < seen_by_some.end; key += tile) {
      const auto k = tokens_at<const T>(a.k, b, kv_head, key, tile);
      const Sight seen = sight(a, query, q.count, key, k.count);
      if (seen == Sight::none) continue;
      const bool masked = seen == Sight::some || a.mask.data;
      C scores[thread_rows<C>][tile_columns], grads[thread_rows<C>][tile_columns];
      product(q, static_cast<C>(a.scale * log2_e), k, C(1), memory, scores);
      product(d_out, C(1), tokens_at<const T>(a.v, b, kv_head, key, tile), C(1), memory, grads);
      score_gradients<false, T>(in, b, h, query, key, masked, memory.weights, scores, grads);
      store_weights(grads, memory.weights);
      add_weighted<N>(k, from, masked, memory, sums);
    }
    store_rows<N>(sums, tokens_at<T>(dq, b, h, query, tile), from, [&](int) { return static_cast<C>(a.scale); });
  }
}

/// dk and dv of 64 keys, channels from `from` on: the query heads of the group one after another.
template <class T, int N>
__global__ void __launch_bounds__(tile_threads<compute_t<T>>, resident_blocks<compute_t<T>>)
    key_gradient_kernel(BackwardInput<compute_t<T>> in, Heads dk, Heads dv, int64_t tiles, int64_t parts,
                        int64_t items) {
  using C = compute_t<T>;
  SHARED_DYN(C, memory_start);
  const TileMemory<C, N> memory(memory_start);
  const AttentionProblem& a = in.problem;
  const int64_t group = a.q.heads / a.k.heads;
  for (int64_t item = blockIdx.x; item < items; item += gridDim.x) {
    const int64_t from = item % parts * 16 * N, key = item / parts % tiles * tile, head = item / parts / tiles;
    const int64_t b = head / a.k.heads, kv_head = head % a.k.heads;
    const auto k = tokens_at<const T>(a.k, b, kv_head, key, tile), v = tokens_at<const T>(a.v, b, kv_head, key, tile);
    const bool want_k = dk.data && from < dk.width, want_v = dv.data && from < dv.width;
    C k_sums[thread_rows<C>][N], v_sums[thread_rows<C>][N];
    clear(k_sums);
    clear(v_sums);
    const Range seeing = seeing_queries(a, key, k.count, tile);
    for (int64_t h = kv_head * group; h < (kv_head + 1) * group; ++h)
      for (int64_t query = seeing.begin; query < seeing.end; query += tile) {
        const auto q = tokens_at<const T>(a.q, b, h, query, tile),
                   d_out = tokens_at<const T>(in.d_out, b, h, query, tile);
        const Sight seen = sight(a, query, q.count, key, k.count);
        if (seen == Sight::none) continue;
        const bool masked = seen == Sight::some || a.mask.data;
        C scores[thread_rows<C>][tile_columns], grads[thread_rows<C>][tile_columns];
        product(k, C(1), q, static_cast<C>(a.scale * log2_e), memory, scores);
        if (want_k)
          product(v, C(1), d_out, C(1), memory, grads);
        else
          clear(grads);
        score_gradients<true, T>(in, b, h, query, key, masked, memory.weights, scores, grads);
        if (want_v) {
          store_weights(scores, memory.weights);
          add_weighted<N>(d_out, from, masked, memory, v_sums);
        }
        if (want_k) {
          store_weights(grads, memory.weights);
          add_weighted<N>(q, from, masked, memory, k_sums);
        }
      }
    if (want_k)
      store_rows<N>(k_sums, tokens_at<T>(dk, b, kv_head, key, tile), from,
                    [&](int) { return static_cast<C>(a.scale); });
    if (want_v) store_rows<N>(v_sums, tokens_at<T>(dv, b, kv_head, key, tile), from, [](int) { return C(1); });
  }
}

template <class T, int N>
void gradients(const BackwardInput<compute_t<T>>& in, const Heads& dq, const Heads& dk, const Heads& dv) {
  using C = compute_t<T>;
  constexpr size_t bytes = TileMemory<C, N>::bytes();
  const AttentionProblem& a = in.problem;
  {
    const int64_t tiles = tiles_of(a.q.tokens, tile), parts = tiles_of(dq.width, 16 * N);
    const int64_t items = a.q.batches * a.q.heads * tiles * parts;
    if (dq.data && items > 0) {
      cuda::check(allow_shared(query_gradient_kernel<T, N>, bytes), "cudaFuncSetAttribute");
      start(query_gradient_kernel<T, N>, blocks_for_tiles(items), tile_threads<C>, bytes, in, dq, tiles, parts, items);
    }
  }
  const int64_t width = std::max(dk.data ? dk.width : 0, dv.data ? dv.width : 0);
  const int64_t tiles = tiles_of(a.k.tokens, tile), parts = tiles_of(width, 16 * N);
  const int64_t items = a.k.batches * a.k.heads * tiles * parts;
  if (items == 0) return;
  cuda::check(allow_shared(key_gradient_kernel<T, N>, bytes), "cudaFuncSetAttribute");
  start(key_gradient_kernel<T, N>, blocks_for_tiles(items), tile_threads<C>, bytes, in, dk, dv, tiles, parts, items);
}

template <class T>
void backward(const AttentionProblem& a, const ConstHeads& y, const void* log_sums, const ConstHeads& dy,
              const Heads& dq, const Heads& dk, const Heads& dv) {
  using C = compute_t<T>;
  const int64_t rows = a.q.batches * a.q.heads * a.q.tokens;
  const Buffer<C> delta(std::max<int64_t>(1, rows));
  int team = 1;  // threads for one query
  while (team < 32 && team * 16 < y.width * static_cast<int64_t>(sizeof(T))) team *= 2;
  if (rows > 0)
    start(delta_kernel<T>, blocks_for(rows, delta_threads / team), delta_threads, 0, y, dy, delta.data(), rows,
          Team{team});
  const BackwardInput<C> in{a, dy, static_cast<const C*>(log_sums), delta.data()};
  if constexpr (!std::is_same_v<T, double>)
    if (cuda::tensor_core_attention_backward(a, in.log_sums, in.delta, dy, dq, dk, dv)) return;
  if (std::is_same_v<T, float> && std::max(a.q.width, a.v.width) <= 32)
    gradients<T, sizeof(T) == 4 ? 2 : 4>(in, dq, dk, dv);
  else
    gradients<T, 4>(in, dq, dk, dv);
}

}  // namespace

template <>
void kernel::attention_backward::run<Here>(const AttentionProblem& a, const ConstHeads& y, const void* log_sums,
                                           const ConstHeads& dy, const Heads& dq, const Heads& dk, const Heads& dv) {
  for_float(a.q.dtype, [&]<class T>(T) { backward<T>(a, y, log_sums, dy, dq, dk, dv); });
}

}  // namespace tutti
