// For the attention kernels, on multiply-adds and on tensor cores: which keys a query sees, masks, dropout, and how
// work is cut into tiles.
#pragma once
#include <limits>

#include "tutti/backends/contract/attention.h"
#include "tutti/backends/cuda/device.h"
#include "tutti/core/philox.h"

namespace tutti {
namespace cuda {

// On tensor cores: true if they take this problem (16-bit numbers, float32 where allow_tf32(), widths up to 256, or
// what the device's shared memory has room for), and it is launched.
bool tensor_core_attention_forward(const AttentionProblem& a, const Heads& out, float* log_sums);
/// `delta` [B, H, Tq]: the sums over channels of dO O.
bool tensor_core_attention_backward(const AttentionProblem& a, const float* log_sums, const float* delta,
                                    const ConstHeads& d_out, const Heads& dq, const Heads& dk, const Heads& dv);

}  // namespace cuda

namespace {

constexpr double log2_e = 1.4426950408889634074;
template <class C>
constexpr C infinity = std::numeric_limits<C>::infinity();
/// Below it, in units of log2, a maximum and the logarithm of a sum (which is below 64) go into one number.
constexpr double usual_score = 128;
constexpr double usual_base = usual_score + 64;

__device__ inline float power_of_two(float x) { return exp2f(x); }
__device__ inline double power_of_two(double x) { return exp2(x); }
__device__ inline float multiply_add(float a, float b, float c) { return fmaf(a, b, c); }
__device__ inline double multiply_add(double a, double b, double c) { return fma(a, b, c); }

/// Tokens of one head, from one of them on.
template <class T>
struct Tokens {
  T* data;
  int64_t token_stride, stride, width;
  int count;
};
template <class T, class Void>
__device__ Tokens<T> tokens_at(const BasicHeads<Void>& x, int64_t b, int64_t h, int64_t token, int most) {
  const int64_t left = x.tokens - token;
  return {static_cast<T*>(x.data) + b * x.batch_stride + h * x.head_stride + token * x.token_stride, x.token_stride,
          x.stride, x.width, static_cast<int>(left < most ? left : most)};
}
/// Whether packs of V channels may stand for V channels.
template <int V, class T>
__device__ bool packable(const Tokens<T>& x) {
  return x.stride == 1 && x.width % V == 0 && x.token_stride % V == 0 &&
         reinterpret_cast<uintptr_t>(x.data) % (V * sizeof(T)) == 0;
}

/// How much a block of queries sees of a block of keys.
enum class Sight { none, some, all };
/// By the band alone.
__device__ inline Sight band_sight(const AttentionProblem& a, int64_t query, int64_t queries, int64_t key,
                                   int64_t keys) {
  const int64_t aligned = query + a.k.tokens - a.q.tokens;
  const int64_t least = aligned - (key + keys - 1), most = aligned + queries - 1 - key;
  if (most < a.nearest || least > a.farthest) return Sight::none;
  return least >= a.nearest && most <= a.farthest ? Sight::all : Sight::some;
}
/// By the band and the layout. For whole warps: the lanes share the blocks of the layout.
__device__ inline Sight sight(const AttentionProblem& a, int64_t query, int64_t queries, int64_t key, int64_t keys) {
  if (!a.layout.data) return band_sight(a, query, queries, key, keys);
  const int64_t block = a.layout.block, row = query / block, column = key / block;
  const int64_t rows = (query + queries - 1) / block - row + 1, columns = (key + keys - 1) / block - column + 1;
  bool any = false, all = true;
  for (int64_t i = threadIdx.x % 32; i < rows * columns; i += 32) {
    const int64_t r = row + i / columns, c = column + i % columns;
    const int64_t q = max(query, r * block), q_end = min(query + queries, (r + 1) * block);
    const int64_t k = max(key, c * block), k_end = min(key + keys, (c + 1) * block);
    const bool visited = static_cast<const uint8_t*>(a.layout.data)[r * a.layout.row_stride + c * a.layout.stride] != 0;
    const Sight seen = visited ? band_sight(a, q, q_end - q, k, k_end - k) : Sight::none;
    any |= seen != Sight::none;
    all &= seen == Sight::all;
  }
  any = __any_sync(~0u, any) != 0;
  all = __all_sync(~0u, all) != 0;
  return all ? Sight::all : any ? Sight::some : Sight::none;
}

/// A range of tokens, beginning at a multiple of `step`.
struct Range {
  int64_t begin, end;
};
/// Of keys that some of these queries see, by the band.
__device__ inline Range seen_keys(const AttentionProblem& a, int64_t query, int64_t queries, int64_t step) {
  const int64_t aligned = query + a.k.tokens - a.q.tokens;
  return {max(int64_t{0}, aligned - a.farthest) / step * step, min(a.k.tokens, aligned + queries - a.nearest)};
}
/// Of queries that see some of these keys.
__device__ inline Range seeing_queries(const AttentionProblem& a, int64_t key, int64_t keys, int64_t step) {
  const int64_t aligned = key - a.k.tokens + a.q.tokens;
  return {max(int64_t{0}, aligned + a.nearest) / step * step, min(a.q.tokens, aligned + keys + a.farthest)};
}

/// What is added to score (i, j) of a head in units of log2: the mask, and -inf where the key is not seen or there is
/// no such query or key. `mask_start` is the mask's offset of the head. A finite mask stays finite: a row of the most
/// negative numbers is not fully masked.
template <class T>
__device__ compute_t<T> bias_at(const AttentionProblem& a, int64_t mask_start, int64_t i, int64_t j) {
  using C = compute_t<T>;
  const int64_t distance = i + a.k.tokens - a.q.tokens - j;
  if (i >= a.q.tokens || j >= a.k.tokens || distance < a.nearest || distance > a.farthest) return -infinity<C>;
  if (a.layout.data) {
    const int64_t cell = i / a.layout.block * a.layout.row_stride + j / a.layout.block * a.layout.stride;
    if (!static_cast<const uint8_t*>(a.layout.data)[cell]) return -infinity<C>;
  }
  if (!a.mask.data) return C(0);
  const int64_t at = mask_start + i * a.mask.token_stride + j * a.mask.stride;
  if (a.mask.dtype == DType::boolean) return static_cast<const uint8_t*>(a.mask.data)[at] ? C(0) : -infinity<C>;
  constexpr C least = -std::numeric_limits<C>::max() / 4;
  const C v = load(static_cast<const T*>(a.mask.data) + at), scaled = v * static_cast<C>(log2_e);
  return v == -infinity<C> ? v : scaled < least ? least : scaled;
}
__device__ inline int64_t mask_start(const AttentionProblem& a, int64_t b, int64_t h) {
  return b * a.mask.batch_stride + h * a.mask.head_stride;
}

/// The number of the random word for weight (b, h, i, j).
__device__ inline uint64_t word_index(const AttentionProblem& a, int64_t b, int64_t h, int64_t i, int64_t j) {
  return static_cast<uint64_t>(((b * a.q.heads + h) * a.q.tokens + i) * a.k.tokens + j);
}
/// What a weight that dropout keeps is multiplied by.
template <class C>
__device__ C kept_factor(const AttentionProblem& a) {
  return a.dropout < 1 ? static_cast<C>(1 / (1 - a.dropout)) : C(0);
}
/// The factors of n <= 4 weights, from word `first` on: 0 where dropped, else 1 / (1 - p).
template <int n, class C>
__device__ void drop_factors(const AttentionProblem& a, uint64_t first, C (&factor)[n]) {
  const C kept = kept_factor<C>(a);
  const unsigned skip = first % 4;
  const RandomKey key = a.key.now();
  Philox4 words = philox(key, first / 4);
  if (skip != 0) {
    // Shifts instead of an index that the compiler does not know: arrays stay in registers.
    uint32_t w[8] = {words.v[0], words.v[1], words.v[2], words.v[3]};
    if (skip + n > 4) {
      const Philox4 more = philox(key, first / 4 + 1);
      TUTTI_UNROLL
      for (int k = 0; k < 4; ++k) w[4 + k] = more.v[k];
    }
    TUTTI_UNROLL
    for (int k = 0; k < 7; ++k) w[k] = skip & 1 ? w[k + 1] : w[k];
    TUTTI_UNROLL
    for (int k = 0; k < 4; ++k) words.v[k] = skip & 2 ? w[k + 2] : w[k];
  }
  TUTTI_UNROLL
  for (int k = 0; k < n; ++k) factor[k] = words.v[k] >= a.drop_below ? kept : C(0);
}

/// What the backward pass needs of a query: weights are 2^(score - base), for large scores 2^(min(0, score - base) -
/// rest): those are rounded coarsely, and not as in the forward pass, and may not exceed their maximum for that.
template <class C>
struct alignas(4 * sizeof(C)) QueryNumbers {  // loaded at once
  C base, rest, delta, most;
};
template <class C>
__device__ QueryNumbers<C> query_numbers(const AttentionProblem& a, const C* log_sums, const C* delta, int64_t b,
                                         int64_t h, int64_t i) {
  if (i >= a.q.tokens) return {infinity<C>, C(0), C(0), C(0)};
  const int64_t row = (b * a.q.heads + h) * a.q.tokens + i;
  const C base = log_sums[row];
  const bool usual = base < static_cast<C>(usual_base) && base > static_cast<C>(-usual_base);
  return {base, log_sums[a.q.batches * a.q.heads * a.q.tokens + row], delta[row], usual ? infinity<C> : C(0)};
}
/// x as it is if NaN.
template <class C>
__device__ C at_most(C most, C x) {
  return x > most ? most : x;
}

/// Writes the two numbers of a row whose weights are 2^(score - best), `sum` together.
template <class C>
__device__ void store_log_sum(C* log_sums, int64_t rows, int64_t row, C best, C sum) {
  const bool none = sum == C(0), usual = best < static_cast<C>(usual_score) && best > static_cast<C>(-usual_score);
  const C rest = log2(sum);
  log_sums[row] = none ? infinity<C> : usual ? best + rest : best;
  log_sums[rows + row] = none || usual ? C(0) : rest;
}

/// Blocks for work of very different sizes: many more than run at once, so that the hardware balances it.
inline dim3 blocks_for_tiles(int64_t items) {
  return dim3(static_cast<unsigned>(std::min<int64_t>(items, int64_t{256} * cuda::multiprocessors())));
}
inline int64_t tiles_of(int64_t n, int64_t tile) { return (n + tile - 1) / tile; }

}  // namespace
}  // namespace tutti
