// For kernel files: a stable radix sort of keys with a value each, by 8 bits at a time. Everything about it is
// integers, so it repeats whatever the order of threads.
#pragma once
#include "tutti/backends/cuda/collective.h"

namespace tutti {
namespace {

constexpr int sort_threads = 256, sort_digits = 256;
constexpr int sort_rounds = 8;                         // elements of a thread
constexpr int sort_tile = sort_threads * sort_rounds;  // of a block

/// n keys, each with a value.
struct SortPairs {
  uint64_t* keys;
  uint32_t* values;
};

__device__ inline unsigned digit_of(uint64_t key, int shift) { return static_cast<unsigned>(key >> shift) & 0xffu; }

/// counts[digit][tile]
__global__ void __launch_bounds__(sort_threads)
    sort_count_kernel(const uint64_t* keys, int64_t n, int shift, int64_t tiles, unsigned* counts) {
  SHARED(unsigned, count, [sort_digits]);
  for (int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    __syncthreads();
    count[threadIdx.x] = 0;
    __syncthreads();
    for (int round = 0; round < sort_rounds; ++round) {
      const int64_t i = tile * sort_tile + round * sort_threads + threadIdx.x;
      if (i < n) atomicAdd(&count[digit_of(keys[i], shift)], 1u);
    }
    __syncthreads();
    counts[threadIdx.x * tiles + tile] = count[threadIdx.x];
  }
}

/// The sum of v over the threads before this one, and of all.
__device__ inline unsigned sum_before(unsigned v, unsigned* all) {
  SHARED(unsigned, of_warp, [sort_threads / 32]);
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  unsigned sum = v;
  for (unsigned distance = 1; distance < 32; distance *= 2) {
    const unsigned other = __shfl_up_sync(full_warp, sum, distance);
    if (lane >= distance) sum += other;
  }
  __syncthreads();
  if (lane == 31) of_warp[warp] = sum;
  __syncthreads();
  unsigned before = 0, total = 0;
  for (unsigned w = 0; w < sort_threads / 32; ++w) {
    if (w < warp) before += of_warp[w];
    total += of_warp[w];
  }
  *all = total;
  return before + sum - v;
}

/// Per digit: counts become the sums of those before, totals their sum.
__global__ void __launch_bounds__(sort_threads) sort_scan_kernel(unsigned* counts, int64_t tiles, unsigned* totals) {
  for (int64_t digit = blockIdx.x; digit < sort_digits; digit += gridDim.x) {
    unsigned carry = 0;
    for (int64_t first = 0; first < tiles; first += sort_threads) {
      const int64_t tile = first + threadIdx.x;
      unsigned all = 0;
      const unsigned before = sum_before(tile < tiles ? counts[digit * tiles + tile] : 0, &all);
      if (tile < tiles) counts[digit * tiles + tile] = carry + before;
      carry += all;
    }
    if (threadIdx.x == 0) totals[digit] = carry;
  }
}

/// Each warp has a stretch of the tile: the place of an element is that of its digit, warp and round.
__global__ void __launch_bounds__(sort_threads)
    sort_place_kernel(SortPairs from, SortPairs to, int64_t n, int shift, int64_t tiles, const unsigned* counts,
                      const unsigned* totals) {
  constexpr int warps = sort_threads / 32;
  SHARED(unsigned, place, [warps][sort_digits]);
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  unsigned all = 0;
  const unsigned digit_start = sum_before(totals[threadIdx.x], &all);
  for (int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    __syncthreads();
    for (int w = 0; w < warps; ++w) place[w][threadIdx.x] = 0;
    __syncthreads();
    const int64_t first = tile * sort_tile + warp * (sort_tile / warps) + lane;
    unsigned rank[sort_rounds];
    TUTTI_UNROLL
    for (int round = 0; round < sort_rounds; ++round) {
      const int64_t i = first + round * 32;
      const unsigned digit = i < n ? digit_of(from.keys[i], shift) : sort_digits;
      const unsigned same = __match_any_sync(full_warp, digit), before = __popc(same & ((1u << lane) - 1));
      rank[round] = i < n ? place[warp][digit] + before : 0;
      __syncwarp();
      if (i < n && before == 0) place[warp][digit] += __popc(same);
      __syncwarp();
    }
    __syncthreads();
    unsigned start = digit_start + counts[threadIdx.x * tiles + tile];
    for (int w = 0; w < warps; ++w) {
      const unsigned count = place[w][threadIdx.x];
      place[w][threadIdx.x] = start;
      start += count;
    }
    __syncthreads();
    TUTTI_UNROLL
    for (int round = 0; round < sort_rounds; ++round) {
      const int64_t i = first + round * 32;
      if (i >= n) continue;
      const uint64_t key = from.keys[i];
      const unsigned at = place[warp][digit_of(key, shift)] + rank[round];
      to.keys[at] = key;
      to.values[at] = from.values[i];
    }
  }
}

/// Sorts n < 2^32 pairs by the lowest `bits` of their keys, with `other` as room; the result is in `pairs`, which may
/// have become the other.
inline void sort_pairs(SortPairs& pairs, SortPairs& other, int64_t n, int bits) {
  const int64_t tiles = (n + sort_tile - 1) / sort_tile;
  if (n < 2) return;
  const Buffer<unsigned> counts(sort_digits * tiles), totals(sort_digits);
  for (int shift = 0; shift < bits; shift += 8) {
    start(sort_count_kernel, blocks_for(tiles), sort_threads, 0, static_cast<const uint64_t*>(pairs.keys), n, shift,
          tiles, counts.data());
    start(sort_scan_kernel, blocks_for(sort_digits), sort_threads, 0, counts.data(), tiles, totals.data());
    start(sort_place_kernel, blocks_for(tiles), sort_threads, 0, pairs, other, n, shift, tiles,
          static_cast<const unsigned*>(counts.data()), static_cast<const unsigned*>(totals.data()));
    std::swap(pairs, other);
  }
}

/// How many bits numbers below n have.
inline int bits_below(int64_t n) {
  int bits = 0;
  while (bits < 63 && (int64_t{1} << bits) < n) ++bits;
  return bits;
}

/// Two sets of pairs.
class SortBuffer {
 public:
  explicit SortBuffer(int64_t n) : keys_(2 * n), values_(2 * n), n_(n) {}
  SortPairs first() const { return {keys_.data(), values_.data()}; }
  SortPairs second() const { return {keys_.data() + n_, values_.data() + n_}; }

 private:
  Buffer<uint64_t> keys_;
  Buffer<uint32_t> values_;
  int64_t n_;
};

}  // namespace
}  // namespace tutti
