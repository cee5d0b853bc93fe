// Adding by index. The elements that go to one place are found by a stable sort, or by looking for them where there are
// few; one thread adds them, in their order. Indices out of range are passed over: their error is on its way.
#include "tutti/backends/contract/index.h"

#include "tutti/backends/cuda/complain.h"
#include "tutti/backends/cuda/sort.h"

namespace tutti {
namespace {

constexpr int block_size = 256;
constexpr int64_t most_pairs = int64_t{1} << 31;  // that are sorted at a time

/// f(T{}) for what is added up: every dtype but the half ones, which ops bring in float32.
template <class F>
void for_summed(const char* kernel, DType t, F&& f) {
  for_any(t, [&]<class T>(T x) {
    if constexpr (is_half<T>)
      kernel::throw_no_half(kernel, t);
    else
      f(x);
  });
}

/// Integers wrap around.
template <class T>
__device__ T sum_of(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) + static_cast<std::make_unsigned_t<T>>(b));
  else
    return a + b;
}
template <class T, int V>
__device__ void add_pack(Pack<T, V>& sum, const Pack<T, V>& x) {
  TUTTI_UNROLL
  for (int j = 0; j < V; ++j) sum.v[j] = sum_of(sum.v[j], x.v[j]);
}

/// The first of the equal keys of a sorted list adds what all of them stand for: sum = f(i) for each, in order.
template <class Pack, class F>
__device__ void add_equal(const SortPairs& sorted, int64_t n, int64_t first, Pack& sum, const F& x_at) {
  constexpr int ahead = 4;  // loads on their way at a time
  const uint64_t key = sorted.keys[first];
  int64_t i = first;
  for (; i + ahead <= n && sorted.keys[i + ahead - 1] == key; i += ahead) {
    Pack x[ahead];
    TUTTI_UNROLL
    for (int u = 0; u < ahead; ++u) x[u] = x_at(sorted.values[i + u]);
    TUTTI_UNROLL
    for (int u = 0; u < ahead; ++u) add_pack(sum, x[u]);
  }
  for (; i < n && sorted.keys[i] == key; ++i) add_pack(sum, x_at(sorted.values[i]));
}
__device__ inline bool starts(const SortPairs& sorted, int64_t i) {
  return i == 0 || sorted.keys[i - 1] != sorted.keys[i];
}

// index_add

__global__ void index_keys_kernel(const int64_t* index, int64_t n, int64_t size, SortPairs pairs) {
  for (int64_t j = thread_index(); j < n; j += thread_count()) {
    pairs.keys[j] = static_cast<uint64_t>(outside(index[j], size) ? size : index[j]);
    pairs.values[j] = static_cast<uint32_t>(j);
  }
}

/// A thread per place in the sorted list and pack of columns.
template <class T, int V>
__global__ void index_add_sorted_kernel(kernel::IndexAdd a, SortPairs sorted) {
  const int64_t columns = a.inner / V, n = a.outer * a.count * columns;
  for (int64_t i = thread_index(); i < n; i += thread_count()) {
    const int64_t column = i % columns * V, j = i / columns % a.count, o = i / columns / a.count;
    const auto row = static_cast<int64_t>(sorted.keys[j]);
    if (row >= a.size || !starts(sorted, j)) continue;
    const T* x = static_cast<const T*>(a.x) + o * a.count * a.inner + column;
    auto* y = reinterpret_cast<Pack<T, V>*>(static_cast<T*>(a.y) + (o * a.size + row) * a.inner + column);
    Pack<T, V> sum = *y;
    add_equal(sorted, a.count, j, sum,
              [&](int64_t k) { return *reinterpret_cast<const Pack<T, V>*>(x + k * a.inner); });
    *y = sum;
  }
}

/// Few indices: a block per place in the list and stretch of columns. If an earlier place has the same row, that one's
/// block does it; else this one looks through the rest, in order.
template <class T, int V>
__global__ void index_add_kernel(kernel::IndexAdd a, int64_t stretches) {
  for (int64_t unit = blockIdx.x; unit < a.outer * a.count * stretches; unit += gridDim.x) {
    const int64_t stretch = unit % stretches, j = unit / stretches % a.count, o = unit / stretches / a.count;
    const int64_t row = a.index[j];
    bool earlier = outside(row, a.size);
    for (int64_t k = threadIdx.x; k < j && !earlier; k += blockDim.x) earlier = a.index[k] == row;
    if (__syncthreads_or(earlier)) continue;
    const int64_t column = (stretch * blockDim.x + threadIdx.x) * V;
    const bool here = column < a.inner;
    const T* x = static_cast<const T*>(a.x) + o * a.count * a.inner + column;
    auto* y = reinterpret_cast<Pack<T, V>*>(static_cast<T*>(a.y) + (o * a.size + row) * a.inner + column);
    Pack<T, V> sum{};
    if (here) sum = *y;
    const int lane = static_cast<int>(threadIdx.x % 32);
    for (int64_t first = j; first < a.count; first += 32) {  // a warp looks at 32 at a time
      unsigned equal = __ballot_sync(full_warp, first + lane < a.count && a.index[first + lane] == row);
      for (; equal; equal &= equal - 1) {
        const int64_t k = first + __ffs(static_cast<int>(equal)) - 1;
        if (here) add_pack(sum, *reinterpret_cast<const Pack<T, V>*>(x + k * a.inner));
      }
    }
    if (here) *y = sum;
  }
}

template <class T, int V>
void index_add(const kernel::IndexAdd& a) {
  constexpr int64_t few = 2048;
  const int64_t packs = a.inner / V;
  if (a.count <= few) {
    const int block = threads_for(packs);
    const int64_t stretches = (packs + block - 1) / block;
    start(index_add_kernel<T, V>, blocks_for(a.outer * a.count * stretches), block, 0, a, stretches);
    return;
  }
  for (int64_t first = 0; first < a.count; first += most_pairs) {
    kernel::IndexAdd part = a;  // more than one only where outer is 1: see below
    part.count = std::min(most_pairs, a.count - first);
    part.index += first;
    part.x = static_cast<const T*>(a.x) + first * a.inner;
    const SortBuffer room(part.count);
    SortPairs pairs = room.first(), other = room.second();
    const int block = threads_for(part.count);
    start(index_keys_kernel, blocks_for(part.count, block), block, 0, part.index, part.count, part.size, pairs);
    sort_pairs(pairs, other, part.count, bits_below(part.size + 1));
    const int64_t threads = part.outer * part.count * packs;
    start(index_add_sorted_kernel<T, V>, blocks_for(threads, block_size), block_size, 0, part, pairs);
  }
}

// scatter_add

/// Narrow rows: a thread each.
template <class T>
__global__ void scatter_add_kernel(Rows y, ConstRows index, ConstRows x) {
  for (int64_t row = thread_index(); row < x.count; row += thread_count()) {
    T* to = static_cast<T*>(y.data) + offset_at(y.outer, y.outer_strides, row);
    const T* from = static_cast<const T*>(x.data) + offset_at(x.outer, x.outer_strides, row);
    const int64_t* at = static_cast<const int64_t*>(index.data) + offset_at(index.outer, index.outer_strides, row);
    for (int64_t j = 0; j < x.width; ++j) {
      const int64_t place = at[j * index.stride];
      if (!outside(place, y.width)) to[place * y.stride] = sum_of(to[place * y.stride], from[j * x.stride]);
    }
  }
}

/// Of `n` elements from number `first` on. Keys are places in y, row by row, beyond which the bad ones are.
__global__ void scatter_keys_kernel(ConstRows index, int64_t size, int64_t first, int64_t n, SortPairs pairs) {
  for (int64_t i = thread_index(); i < n; i += thread_count()) {
    const int64_t row = (first + i) / index.width, j = (first + i) % index.width;
    const int64_t at = offset_at(index.outer, index.outer_strides, row) + j * index.stride;
    const int64_t place = static_cast<const int64_t*>(index.data)[at];
    pairs.keys[i] = static_cast<uint64_t>(outside(place, size) ? index.count * size : row * size + place);
    pairs.values[i] = static_cast<uint32_t>(i);
  }
}

template <class T>
__global__ void scatter_add_sorted_kernel(Rows y, ConstRows x, int64_t first, int64_t n, SortPairs sorted) {
  for (int64_t i = thread_index(); i < n; i += thread_count()) {
    const auto key = static_cast<int64_t>(sorted.keys[i]), row = key / y.width;
    if (row >= y.count || !starts(sorted, i)) continue;
    T& to = static_cast<T*>(y.data)[offset_at(y.outer, y.outer_strides, row) + key % y.width * y.stride];
    const T* from = static_cast<const T*>(x.data) + offset_at(x.outer, x.outer_strides, row);
    const int64_t before = row * x.width - first;
    Pack<T, 1> sum{{to}};
    add_equal(sorted, n, i, sum, [&](int64_t k) { return Pack<T, 1>{{from[(k - before) * x.stride]}}; });
    to = sum.v[0];
  }
}

template <class T>
void scatter_add(Rows y, ConstRows index, ConstRows x) {
  constexpr int64_t few = 64;
  if (x.width <= few) {
    const int block = threads_for(x.count, 128);
    start(scatter_add_kernel<T>, blocks_for(x.count, block), block, 0, y, index, x);
    return;
  }
  const int64_t all = x.count * x.width;
  for (int64_t first = 0; first < all; first += most_pairs) {
    const int64_t n = std::min(most_pairs, all - first);
    const SortBuffer room(n);
    SortPairs pairs = room.first(), other = room.second();
    const dim3 grid = blocks_for(n, block_size);
    start(scatter_keys_kernel, grid, block_size, 0, index, y.width, first, n, pairs);
    sort_pairs(pairs, other, n, bits_below(index.count * y.width + 1));
    start(scatter_add_sorted_kernel<T>, grid, block_size, 0, y, x, first, n, pairs);
  }
}

}  // namespace

template <>
void kernel::index_add::run<Here>(const IndexAdd& a) {
  for_summed("index_add", a.dtype, [&]<class T>(T) {
    if (a.outer * a.count * a.inner * a.size == 0) return;
    constexpr int V = static_cast<int>(16 / sizeof(T));
    const auto aligned = [](const void* p) { return reinterpret_cast<uintptr_t>(p) % 16 == 0; };
    const bool packed = V <= 4 && a.inner % V == 0 && aligned(a.x) && aligned(a.y);
    for (int64_t o = 0; o < (a.count > most_pairs ? a.outer : 1); ++o) {
      IndexAdd one = a;
      if (a.count > most_pairs) {  // one at a time, so that its list may be taken in parts
        one.outer = 1;
        one.y = static_cast<T*>(a.y) + o * a.size * a.inner;
        one.x = static_cast<const T*>(a.x) + o * a.count * a.inner;
      }
      if constexpr (V <= 4)
        if (packed) {
          tutti::index_add<T, V>(one);
          continue;
        }
      tutti::index_add<T, 1>(one);
    }
  });
}

template <>
void kernel::scatter_add::run<Here>(Rows y, ConstRows index, ConstRows x) {
  for_summed("scatter_add", y.dtype, [&]<class T>(T) {
    if (x.count * x.width * y.width == 0) return;
    tutti::scatter_add<T>(y, index, x);
  });
}

}  // namespace tutti
