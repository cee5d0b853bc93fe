// For the attention kernels: what happens to a tile of scores between the products: which keys a query sees, the mask,
// dropout, and 2^x. A tile has rows and lanes; queries may be either.
#pragma once
#include <limits>

#include "tutti/backends/cpu/attention_pack.h"
#include "tutti/backends/cpu/philox.h"
#include "tutti/core/scratch.h"

namespace tutti {
namespace {

inline constexpr int64_t query_tile = 64, key_tile = 64;
template <class T>
inline constexpr T infinity = std::numeric_limits<T>::infinity();
/// Below it, in units of log2, a maximum and the logarithm of a sum (which is below 64) go into one number.
inline constexpr double usual_score = 128;
inline constexpr double log2_e = 1.4426950408889634074;

/// 2^x for x <= 127 (float) or 1023: exactly 0 below -127 or -1023 (and so for -inf), NaN for NaN; within 1.5 ulp.
TUTTI_INLINE batch<float> power_of_two(batch<float> x) {
  using B = batch<float>;
  const B shift(12582912.f);  // 1.5 * 2^23: adding it leaves the rounded x in the low bits
  x = xsimd::max(B(-127.f), x);
  const B shifted = x + shift, f = x - (shifted - shift);
  // The polynomial of least relative error on [-1/2, 1/2] with p(0) = 1: 9.2e-8.
  B p = multiply_add(f, B(1.326472712e-3f), B(9.671512645e-3f));
  p = multiply_add(p, f, B(5.550733743e-2f));
  p = multiply_add(p, f, B(2.402224209e-1f));
  p = multiply_add(p, f, B(6.931469776e-1f));
  p = multiply_add(p, f, B(1.f));
  const auto exponent = (std::bit_cast<batch<int32_t>>(shifted) + batch<int32_t>(127)) << 23;
  return p * std::bit_cast<B>(exponent);
}
TUTTI_INLINE batch<double> power_of_two(batch<double> x) {
  using B = batch<double>;
  const B shift(6755399441055744.0);
  x = xsimd::max(B(-1023.0), x);
  const B shifted = x + shift, f = (x - (shifted - shift)) * B(0.69314718055994530942);
  B p(1.0 / 6227020800);  // exp(f) by Taylor: |f| <= ln(2) / 2
  for (double c : {1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040, 1.0 / 720,
                   1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5, 1.0, 1.0})
    p = multiply_add(p, f, B(c));
  const auto exponent = (std::bit_cast<batch<int64_t>>(shifted) + batch<int64_t>(1023)) << 52;
  return p * std::bit_cast<B>(exponent);
}

/// A block of queries against a block of keys.
struct Tile {
  int64_t b, h, query, queries, key, keys;
};

/// body(query, queries, key, keys, visited) for every block of the layout that touches these queries and keys, cut to
/// them, until it returns false.
template <class F>
TUTTI_INLINE void for_blocks(const BlockLayout& l, int64_t query, int64_t queries, int64_t key, int64_t keys,
                             const F& body) {
  const auto* visited = static_cast<const uint8_t*>(l.data);
  for (int64_t q = query; q < query + queries;) {
    const int64_t row = q / l.block,
                  q_end = query + queries < (row + 1) * l.block ? query + queries : (row + 1) * l.block;
    for (int64_t k = key; k < key + keys;) {
      const int64_t column = k / l.block,
                    k_end = key + keys < (column + 1) * l.block ? key + keys : (column + 1) * l.block;
      if (!body(q, q_end - q, k, k_end - k, visited[row * l.row_stride + column * l.stride] != 0)) return;
      k = k_end;
    }
    q = q_end;
  }
}

/// How much a block of queries sees of a block of keys.
enum class Sight { none, some, all };
/// By the band alone.
TUTTI_INLINE Sight band_sight(const AttentionProblem& a, int64_t query, int64_t queries, int64_t key, int64_t keys) {
  const int64_t aligned = query + a.k.tokens - a.q.tokens;
  const int64_t least = aligned - (key + keys - 1), most = aligned + queries - 1 - key;
  if (most < a.nearest || least > a.farthest) return Sight::none;
  return least >= a.nearest && most <= a.farthest ? Sight::all : Sight::some;
}
/// By the band and the layout.
TUTTI_INLINE Sight sight(const AttentionProblem& a, int64_t query, int64_t queries, int64_t key, int64_t keys) {
  if (!a.layout.data) return band_sight(a, query, queries, key, keys);
  bool any = false, all = true;
  for_blocks(
      a.layout, query, queries, key,
      keys, [&](int64_t q, int64_t q_count, int64_t k, int64_t k_count, bool visited) __attribute__((always_inline)) {
        const Sight seen = visited ? band_sight(a, q, q_count, k, k_count) : Sight::none;
        any |= seen != Sight::none;
        all &= seen == Sight::all;
        return all || !any;
      });
  return all ? Sight::all : any ? Sight::some : Sight::none;
}

/// to[j] = value(j) for j < n, in runs of constant length, which compilers vectorise.
template <class T, class F>
TUTTI_INLINE void fill_row(T* __restrict to, int64_t n, const F& value) {
  constexpr int64_t run = 16;
  int64_t j = 0;
  for (; j + run <= n; j += run)
    for (int64_t i = 0; i < run; ++i) to[j + i] = value(j + i);
  for (; j < n; ++j) to[j] = value(j);
}

/// The mask as numbers to add to scores in units of log2: -inf where masked. A finite number stays finite: a row of the
/// most negative ones is not fully masked.
template <class T>
void fill_mask(const AttentionProblem& a, const Tile& t, T* bias) {
  const int64_t start = head_offset(a.mask, t.b, t.h, t.query) + t.key * a.mask.stride;
  const auto rows = [&]<class S>(const S* mask, const auto& value) __attribute__((always_inline)) {
    for (int64_t i = 0; i < t.queries; ++i, mask += a.mask.token_stride)
      if (a.mask.stride == 1)
        fill_row(
            bias + i * key_tile, t.keys, [&](int64_t j) __attribute__((always_inline)) { return value(mask[j]); });
      else
        for (int64_t j = 0; j < t.keys; ++j) bias[i * key_tile + j] = value(mask[j * a.mask.stride]);
  };
  if (a.mask.dtype == DType::boolean)
    rows(
        static_cast<const uint8_t*>(a.mask.data) + start,
        [](uint8_t seen) __attribute__((always_inline)) { return seen ? T(0) : -infinity<T>; });
  else
    for_storage<T>(a.mask.dtype, [&]<class S>(S) {
      rows(
          static_cast<const S*>(a.mask.data) + start, [](S x) __attribute__((always_inline)) {
            constexpr T least = -std::numeric_limits<T>::max() / 4;
            const T v = load1(&x), scaled = v * static_cast<T>(log2_e);
            return v == -infinity<T> ? v : scaled < least ? least : scaled;
          });
    });
}

/// What is added to the scores, [query, key] with rows of key_tile: the mask, and -inf outside the band and the layout.
template <class T>
void fill_bias(const AttentionProblem& a, const Tile& t, T* bias) {
  if (a.mask.data)
    fill_mask(a, t, bias);
  else
    for (int64_t i = 0; i < t.queries * key_tile; i += lanes<T>) batch<T>(T(0)).store_unaligned(bias + i);
  if (sight(a, t.query, t.queries, t.key, t.keys) == Sight::all) return;
  for (int64_t i = 0; i < t.queries; ++i) {
    const int64_t aligned = t.query + i + a.k.tokens - a.q.tokens - t.key;  // as a position in the tile
    const int64_t first = aligned - a.farthest, last = aligned - a.nearest;
    T* const row = bias + i * key_tile;
    for (int64_t j = 0; j < t.keys && j < first; ++j) row[j] = -infinity<T>;
    for (int64_t j = last < -1 ? 0 : last + 1; j < t.keys; ++j) row[j] = -infinity<T>;
  }
  if (!a.layout.data) return;
  for_blocks(
      a.layout, t.query, t.queries, t.key, t.keys,
      [&](int64_t query, int64_t queries, int64_t key, int64_t keys, bool visited) __attribute__((always_inline)) {
        for (int64_t i = 0; !visited && i < queries; ++i) {
          T* const row = bias + (query - t.query + i) * key_tile + key - t.key;
          for (int64_t j = 0; j < keys; ++j) row[j] = -infinity<T>;
        }
        return true;
      });
}

/// The factor of each weight, [query, key] with rows of key_tile: 0 where dropped, else 1 / (1 - p).
template <class T>
void fill_dropout(const AttentionProblem& a, const Tile& t, T* factor) {
  const T kept = a.dropout < 1 ? static_cast<T>(1 / (1 - a.dropout)) : T(0);
  const uint32_t threshold = a.drop_below;
  const RandomKey key = a.key.now();
  alignas(64) uint32_t words[words_per_call];
  int64_t drawn = -1;
  for (int64_t i = 0; i < t.queries; ++i) {
    const int64_t first = ((t.b * a.q.heads + t.h) * a.q.tokens + t.query + i) * a.k.tokens + t.key;
    for (int64_t j = 0; j < t.keys;) {
      const int64_t call = (first + j) / words_per_call, skip = (first + j) % words_per_call;
      if (call != drawn) philox_words(key, call, words);
      drawn = call;
      const int64_t left = t.keys - j, n = left < words_per_call - skip ? left : words_per_call - skip;
      fill_row(
          factor + i * key_tile + j, n, [&words, skip, threshold, kept ](int64_t w) __attribute__((always_inline)) {
            return words[skip + w] >= threshold ? kept : T(0);
          });
      j += n;
    }
  }
}

/// [query, key] to [key, query], with rows of query_tile.
template <class T>
void transpose_tile(const Tile& t, const T* from, T* to) {
  const ConstHeads view{from, dtype_of<T>(), 1, 1, t.queries, t.keys, 0, 0, key_tile, 1};
  pack_transposed(view, 0, 0, 0, t.queries, T(1), to, query_tile);
}

/// Cuts one piece of scratch memory into aligned arrays. First without memory, to learn the size.
template <class T>
struct Cutter {
  T* next = nullptr;
  int64_t used = 0;
  TUTTI_INLINE T* operator()(int64_t n) {
    T* p = next ? next + used : nullptr;
    used += round_up(n, 64);
    return p;
  }
};

}  // namespace
}  // namespace tutti
