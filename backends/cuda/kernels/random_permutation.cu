// A random order: pairs (random key, number) sorted. Numbers make all pairs different, so that the order is the CPU's,
// however they are sorted: here in tiles in shared memory, and then by merging, twice as long at each pass.
#include "tutti/backends/contract/random.h"

#include "tutti/backends/cuda/device.h"
#include "tutti/core/philox.h"

namespace tutti {
namespace {

constexpr int tile = 1024;

struct alignas(16) Keyed {
  uint64_t key;
  int64_t number;
};
__device__ bool before(uint64_t key_a, int64_t a, uint64_t key_b, int64_t b) {
  return key_a < key_b || (key_a == key_b && a < b);
}
__device__ void put(Keyed* sorted, int64_t* order, int64_t at, Keyed k) {
  if (order)  // the last pass
    order[at] = k.number;
  else
    sorted[at] = k;
}

/// A bitonic sort of two places per thread: of a tile, or, if all is less than one, of the next power of two. Places
/// beyond n have the largest key and come last.
__global__ void __launch_bounds__(tile / 2) sort_tiles_kernel(Keyed* sorted, int64_t* order, int64_t n, DrawKey draw) {
  const RandomKey random = draw.now();
  SHARED(uint64_t, key, [tile]);
  SHARED(uint32_t, number, [tile]);
  const auto thread = static_cast<int>(threadIdx.x), places = static_cast<int>(2 * blockDim.x);
  const int64_t tiles = (n + tile - 1) / tile;
  for (int64_t t = blockIdx.x; t < tiles; t += gridDim.x) {
    // A block of words is two keys.
    const Philox4 words = philox(random, static_cast<uint64_t>(t * (tile / 2) + thread));
    for (int half = 0; half < 2; ++half) {
      const int i = 2 * thread + half;
      const uint64_t drawn = uint64_t{words.v[2 * half]} << 32 | words.v[2 * half + 1];
      key[i] = t * tile + i < n ? drawn : ~uint64_t{0};
      number[i] = static_cast<uint32_t>(i);
    }
    __syncthreads();
    for (int length = 2; length <= places; length *= 2)
      for (int distance = length / 2; distance > 0; distance /= 2) {
        const int a = thread / distance * (2 * distance) + thread % distance, b = a + distance;
        const bool rising = (a & length) == 0;
        if (before(key[b], number[b], key[a], number[a]) == rising) {
          const uint64_t k = key[a];
          const uint32_t i = number[a];
          key[a] = key[b];
          number[a] = number[b];
          key[b] = k;
          number[b] = i;
        }
        __syncthreads();
      }
    for (int i = thread; i < places && t * tile + i < n; i += places / 2)
      put(sorted, order, t * tile + i, {key[i], t * tile + number[i]});
    __syncthreads();  // the next tile comes into the same memory
  }
}

/// Merges each two neighbours of sorted runs of `length`: a pair goes to where it stands in its run, plus how many of
/// the other run come before it.
__global__ void merge_kernel(const Keyed* from, Keyed* sorted, int64_t* order, int64_t n, int64_t length) {
  for (int64_t i = thread_index(); i < n; i += thread_count()) {
    const Keyed mine = from[i];
    const int64_t run = i / length;
    const int64_t other = min((run ^ 1) * length, n), end = min(other + length, n);
    int64_t low = other, high = end;
    while (low < high) {
      const int64_t middle = (low + high) / 2;
      const Keyed k = from[middle];
      if (before(k.key, k.number, mine.key, mine.number))
        low = middle + 1;
      else
        high = middle;
    }
    put(sorted, order, (run / 2 * 2) * length + (i - run * length) + (low - other), mine);
  }
}

}  // namespace

template <>
void kernel::random_permutation::run<Here>(Rows y, DrawKey key) {
  const int64_t n = y.width;
  if (n == 0) return;
  auto* order = static_cast<int64_t*>(y.data);
  const bool one_tile = n <= tile;
  const Buffer<Keyed> first(one_tile ? 0 : n), second(one_tile ? 0 : n);
  Keyed *from = first.data(), *to = second.data();
  const int threads =
      one_tile ? static_cast<int>(std::bit_ceil(std::max<uint64_t>(static_cast<uint64_t>(n), 64)) / 2) : tile / 2;
  start(sort_tiles_kernel, blocks_for(n, tile), threads, 0, from, one_tile ? order : nullptr, n, key);
  for (int64_t length = tile; length < n; length *= 2) {
    const bool last = 2 * length >= n;
    const int block = threads_for(n);
    start(merge_kernel, blocks_for(n, block), block, 0, from, to, last ? order : nullptr, n, length);
    std::swap(from, to);
  }
}

}  // namespace tutti
