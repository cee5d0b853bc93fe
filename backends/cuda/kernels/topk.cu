// The k largest or smallest elements along an axis, sorted; and the gradient's scatter.
#include "tutti/backends/contract/extrema.h"
#include "tutti/backends/cuda/sort.h"

namespace tutti {
namespace {

constexpr int64_t few = 16;                        // up to here looking for one after the other beats sorting
constexpr int64_t short_line = 1024;               // for one warp
constexpr int topk_threads = 512;                  // of a block for a longer one
constexpr int64_t most_sorted = int64_t{1} << 31;  // elements at a time

/// Elements as unsigned numbers that ascend in rank (the best first): NaN, then the largest (the smallest); 0 and -0
/// are equal. Bits below `bits` are not needed.
template <class T>
struct Ranking {
  static constexpr int dropped = std::is_same_v<T, bfloat16> ? 16 : std::is_same_v<T, float16> ? 13 : 0;
  static constexpr int bits = 8 * static_cast<int>(sizeof(compute_t<T>)) - dropped;

  __device__ static uint64_t rank(T element, bool largest) {
    using C = compute_t<T>;
    const C x = load(&element);
    if constexpr (std::is_integral_v<C>) {
      using U = std::make_unsigned_t<C>;
      constexpr U sign = std::is_signed_v<C> ? static_cast<U>(U{1} << (sizeof(C) * 8 - 1)) : U{0};
      const U ascending = static_cast<U>(static_cast<U>(x) ^ sign);
      return largest ? static_cast<U>(~ascending) : ascending;
    } else {
      using U = std::conditional_t<sizeof(C) == 8, uint64_t, uint32_t>;
      if (x != x) return 0;
      const U u = std::bit_cast<U>(x == 0 ? C(0) : x), sign = U{1} << (sizeof(C) * 8 - 1);
      const U ascending = u & sign ? ~u : u | sign;
      return (largest ? ~ascending : ascending) >> dropped;
    }
  }
};

/// Where the k results of a line begin.
__device__ inline int64_t start_of(int64_t line, int64_t k, int64_t inner) {
  return line / inner * inner * k + line % inner;
}

struct Ranked {
  uint64_t rank;
  int64_t at;
};
struct Better {
  __device__ bool operator()(const Ranked& a, const Ranked& b) const {
    return a.rank < b.rank || (a.rank == b.rank && a.at < b.at);
  }
};
__device__ inline Ranked warp_best(Ranked x) {
  for (int offset = 16; offset; offset >>= 1) {
    const auto rank =
        static_cast<uint64_t>(__shfl_xor_sync(full_warp, static_cast<unsigned long long>(x.rank), offset));
    const auto at = static_cast<int64_t>(__shfl_xor_sync(full_warp, static_cast<long long>(x.at), offset));
    if (Better{}(Ranked{rank, at}, x)) x = {rank, at};
  }
  return x;
}

/// One after the other: each is the best of those that come after the one before. A warp per line, or a block.
template <class T>
__global__ void __launch_bounds__(topk_threads)
    topk_kernel(Lines<1> x, T* values, int64_t* indices, int64_t k, int64_t inner, bool largest, bool by_warp) {
  SHARED(Ranked, of_warp, [32]);
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32),
            warps = static_cast<int>(blockDim.x / 32);
  const int64_t per_block = by_warp ? warps : 1, first = by_warp ? lane : threadIdx.x, step = by_warp ? 32 : blockDim.x;
  constexpr Ranked none{~uint64_t{0}, INT64_MAX};
  for (int64_t base = blockIdx.x * per_block; base < x.count; base += gridDim.x * per_block) {
    const int64_t line = base + (by_warp ? warp : 0);
    const bool here = line < x.count;
    const T* from = static_cast<const T*>(x.in[0]) + (here ? offset_at(x.outer, x.in_outer[0], line) : 0);
    Ranked last{0, -1};
    for (int64_t i = 0; i < k; ++i) {
      Ranked best = none;
      for (int64_t j = first; here && j < x.width; j += step) {
        const Ranked candidate{Ranking<T>::rank(from[j * x.in_stride[0]], largest), j};
        if (Better{}(last, candidate) && Better{}(candidate, best)) best = candidate;
      }
      best = warp_best(best);
      if (!by_warp) {
        __syncthreads();
        if (lane == 0) of_warp[warp] = best;
        __syncthreads();
        best = warp_best(lane < warps ? of_warp[lane] : none);
      }
      last = best;
      if (here && first == 0) {
        const int64_t to = start_of(line, k, inner) + i * inner;
        values[to] = from[best.at * x.in_stride[0]];
        indices[to] = best.at;
      }
    }
  }
}

// Many: all elements of some lines are sorted, by rank and then by line.

template <class T>
__global__ void rank_keys_kernel(Lines<1> x, int64_t first, int64_t n, bool largest, bool with_line, SortPairs pairs) {
  for (int64_t i = thread_index(); i < n; i += thread_count()) {
    const int64_t line = i / x.width, j = i % x.width;
    const T* from = static_cast<const T*>(x.in[0]) + offset_at(x.outer, x.in_outer[0], first + line);
    const uint64_t rank = Ranking<T>::rank(from[j * x.in_stride[0]], largest);
    pairs.keys[i] = with_line ? static_cast<uint64_t>(line) << (Ranking<T>::bits % 64) | rank : rank;
    pairs.values[i] = static_cast<uint32_t>(i);
  }
}
/// The lines of sorted elements.
__global__ void line_keys_kernel(SortPairs pairs, int64_t n, int64_t width) {
  for (int64_t i = thread_index(); i < n; i += thread_count())
    pairs.keys[i] = static_cast<uint64_t>(int64_t{pairs.values[i]} / width);
}
template <class T>
__global__ void take_sorted_kernel(Lines<1> x, T* values, int64_t* indices, int64_t k, int64_t inner, int64_t first,
                                   int64_t lines, const uint32_t* sorted) {
  for (int64_t i = thread_index(); i < lines * k; i += thread_count()) {
    const int64_t line = i / k, j = i % k, at = sorted[line * x.width + j] - line * x.width;
    const T* from = static_cast<const T*>(x.in[0]) + offset_at(x.outer, x.in_outer[0], first + line);
    const int64_t to = start_of(first + line, k, inner) + j * inner;
    values[to] = from[at * x.in_stride[0]];
    indices[to] = at;
  }
}

template <class T>
void sort_lines(const Lines<1>& x, T* values, int64_t* indices, int64_t k, int64_t inner, bool largest) {
  constexpr int bits = Ranking<T>::bits;
  constexpr int block = 256;
  const int64_t per_sort = std::min(x.count, most_sorted / x.width);
  const SortBuffer room(per_sort * x.width);
  for (int64_t first = 0; first < x.count; first += per_sort) {
    const int64_t lines = std::min(per_sort, x.count - first), n = lines * x.width;
    SortPairs pairs = room.first(), other = room.second();
    const dim3 grid = blocks_for(n, block);
    constexpr bool with_line = bits <= 32;  // both fit into a key
    start(rank_keys_kernel<T>, grid, block, 0, x, first, n, largest, with_line, pairs);
    sort_pairs(pairs, other, n, with_line ? bits + bits_below(lines) : bits);
    if (!with_line && lines > 1) {
      start(line_keys_kernel, grid, block, 0, pairs, n, x.width);
      sort_pairs(pairs, other, n, bits_below(lines));
    }
    start(take_sorted_kernel<T>, blocks_for(lines * k, block), block, 0, x, values, indices, k, inner, first, lines,
          static_cast<const uint32_t*>(pairs.values));
  }
}

template <class T>
__global__ void place_kernel(const T* values, const int64_t* indices, T* out, int64_t n, int64_t k, int64_t width,
                             int64_t inner) {
  for (int64_t i = thread_index(); i < n; i += thread_count()) {
    const int64_t group = i / inner / k, at = indices[i];
    if (at >= 0 && at < width) out[(group * width + at) * inner + i % inner] = values[i];
  }
}

}  // namespace

template <>
void kernel::topk::run<Here>(const Lines<1>& x, void* values, int64_t* indices, int64_t k, int64_t inner,
                             bool largest) {
  if (x.count * x.width * k == 0) return;
  for_any(x.dtype, [&]<class T>(T) {
    T* const to = static_cast<T*>(values);
    if (k > few && x.width <= most_sorted) return sort_lines<T>(x, to, indices, k, inner, largest);
    const bool by_warp = x.width <= short_line;
    const int block = by_warp ? 128 : topk_threads;
    start(topk_kernel<T>, blocks_for(x.count, by_warp ? block / 32 : 1), block, 0, x, to, indices, k, inner, largest,
          by_warp);
  });
}

template <>
void kernel::place::run<Here>(DType dtype, const void* values, const int64_t* indices, void* out, int64_t lines,
                              int64_t k, int64_t width, int64_t inner) {
  const size_t bytes = static_cast<size_t>(lines * width) * size_of(dtype);
  if (bytes == 0) return;
  cuda::check(cudaMemsetAsync(out, 0, bytes, cuda::stream()), "cudaMemsetAsync");
  const int64_t n = lines * k;
  if (n == 0) return;
  for_size(dtype, [&]<class T>(T) {
    const int block = threads_for(n);
    start(place_kernel<T>, blocks_for(n, block), block, 0, static_cast<const T*>(values), indices, static_cast<T*>(out),
          n, k, width, inner);
  });
}

}  // namespace tutti
