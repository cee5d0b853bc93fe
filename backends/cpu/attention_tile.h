// For the attention kernels: what happens to a tile of scores between the products: which keys a query sees, the mask,
// dropout, and 2^x. A tile has rows and lanes; queries may be either.
#pragma once
#include <limits>

#include "tutti/backends/cpu/attention_pack.h"
#include "tutti/core/philox.h"
#include "tutti/core/scratch.h"

namespace tutti {
namespace {

inline constexpr int64_t query_tile = 64, key_tile = 64;
template <class T>
inline constexpr T infinity = std::numeric_limits<T>::infinity();
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

/// A block of queries against a block of keys, and how it lies in a tile.
struct Tile {
  int64_t b, h, query, queries, key, keys;
  bool lanes_are_queries;
  int64_t rows() const { return lanes_are_queries ? keys : queries; }
  int64_t lane_count() const { return lanes_are_queries ? queries : keys; }
};

/// How much of a block of queries sees of a block of keys, by the band alone.
enum class Sight { none, some, all };
TUTTI_INLINE Sight sight(const AttentionProblem& a, int64_t query, int64_t queries, int64_t key, int64_t keys) {
  const int64_t aligned = query + a.k.tokens - a.q.tokens;
  const int64_t least = aligned - (key + keys - 1), most = aligned + queries - 1 - key;
  if (most < a.nearest || least > a.farthest) return Sight::none;
  return least >= a.nearest && most <= a.farthest ? Sight::all : Sight::some;
}

/// What is added to the scores: -inf where masked. In units of log2, as the scores are.
template <class T>
void fill_bias(const AttentionProblem& a, const Tile& t, T* bias, int64_t row) {
  const int64_t n = t.lane_count(), padded = round_up(n, lanes<T>);
  const int64_t row_stride = t.lanes_are_queries ? a.mask.stride : a.mask.token_stride;
  const int64_t lane_stride = t.lanes_are_queries ? a.mask.token_stride : a.mask.stride;
  const int64_t start = head_offset(a.mask, t.b, t.h, t.query) + t.key * a.mask.stride;
  const auto fill = [&](auto&& value) __attribute__((always_inline)) {
    for (int64_t r = 0; r < t.rows(); ++r)
      if (lane_stride == 0) {
        const batch<T> v(value(start + r * row_stride));
        for (int64_t i = 0; i < padded; i += lanes<T>) v.store_unaligned(bias + r * row + i);
      } else {
        for (int64_t i = 0; i < n; ++i) bias[r * row + i] = value(start + r * row_stride + i * lane_stride);
        for (int64_t i = n; i < padded; ++i) bias[r * row + i] = 0;
      }
  };
  if (!a.mask.data) {
    for (int64_t r = 0; r < t.rows(); ++r)
      for (int64_t i = 0; i < padded; i += lanes<T>) batch<T>(T(0)).store_unaligned(bias + r * row + i);
  } else if (a.mask.dtype == DType::boolean) {
    const auto* mask = static_cast<const uint8_t*>(a.mask.data);
    fill([&](int64_t i) __attribute__((always_inline)) { return mask[i] ? T(0) : -infinity<T>; });
  } else {
    // A finite number stays finite: a row of the most negative ones is not fully masked.
    constexpr T most = std::numeric_limits<T>::max() / 4;
    for_storage<T>(a.mask.dtype, [&]<class S>(S) {
      const S* mask = static_cast<const S*>(a.mask.data);
      fill([&](int64_t i) __attribute__((always_inline)) {
        const T v = load1(mask + i), scaled = v * static_cast<T>(log2_e);
        return v == -infinity<T> ? v : scaled < -most ? -most : scaled;
      });
    });
  }
  if (sight(a, t.query, t.queries, t.key, t.keys) == Sight::all) return;
  T counting[lanes<T>];
  for (int64_t i = 0; i < lanes<T>; ++i) counting[i] = static_cast<T>(i);
  const auto lane_index = batch<T>::load_unaligned(counting);
  const int64_t first = t.query + a.k.tokens - a.q.tokens - t.key;  // the distance of row 0 and lane 0
  constexpr int64_t limit = int64_t{1} << 22;                       // exact in float
  for (int64_t r = 0; r < t.rows(); ++r)
    for (int64_t i = 0; i < padded; i += lanes<T>) {
      const int64_t distance = t.lanes_are_queries ? first - r + i : first + r - i;
      const auto clamp = [](int64_t x) { return static_cast<T>(x < -limit ? -limit : x > limit ? limit : x); };
      const batch<T> low(clamp(a.nearest - distance)), high(clamp(a.farthest - distance));
      const auto step = t.lanes_are_queries ? lane_index : batch<T>(T(0)) - lane_index;
      T* p = bias + r * row + i;
      const auto seen = (step >= low) & (step <= high);
      xsimd::select(seen, batch<T>::load_unaligned(p), batch<T>(-infinity<T>)).store_unaligned(p);
    }
}

/// The factor of each weight: 0 where dropped, else 1 / (1 - p).
template <class T>
void fill_dropout(const AttentionProblem& a, const Tile& t, T* factor, int64_t row) {
  const T kept = a.dropout < 1 ? static_cast<T>(1 / (1 - a.dropout)) : T(0);
  const auto threshold = static_cast<float>(a.dropout);
  const int64_t query_step = t.lanes_are_queries ? 1 : row, key_step = t.lanes_are_queries ? row : 1;
  for (int64_t i = 0; i < t.queries; ++i) {
    const auto first = static_cast<uint64_t>(((t.b * a.q.heads + t.h) * a.q.tokens + t.query + i) * a.k.tokens + t.key);
    const uint64_t end = first + static_cast<uint64_t>(t.keys);
    T* to = factor + i * query_step;
    for (uint64_t block = first / 4; block * 4 < end; ++block) {
      const Philox4 words = philox(a.key, block);
      for (uint64_t w = 0; w < 4; ++w) {
        const uint64_t e = block * 4 + w;
        if (e < first || e >= end) continue;
        to[static_cast<int64_t>(e - first) * key_step] = uniform01(words.v[w]) < threshold ? T(0) : kept;
      }
    }
  }
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
