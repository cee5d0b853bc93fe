// Running sums and products, in float64 (integers: in 64 bits that wrap around).
#include "tutti/backends/contract/cumulative.h"

#include "tutti/backends/cuda/fold.h"

namespace tutti {
namespace {

template <class T>
using wide_t = std::conditional_t<std::is_integral_v<T>, unsigned long long, double>;

template <class T>
__device__ void put(T* p, wide_t<T> v) {
  if constexpr (std::is_integral_v<T>)
    *p = static_cast<T>(v);
  else
    *p = rounded<T>(v);
}

constexpr int scan_threads = 256;
constexpr int scan_each = 4;             // neighbours that a thread of a block adds up
constexpr int64_t short_line = 32;       // a thread's work
constexpr int64_t many_lines = 1 << 14;  // that keep every multiprocessor busy with a thread each

/// A line for each thread: neighbours in a warp have neighbouring lines.
template <class T>
__global__ void scan_thread_kernel(Lines<1> x) {
  for (int64_t line = thread_index(); line < x.count; line += thread_count()) {
    const T* from = static_cast<const T*>(x.in[0]) + offset_at(x.outer, x.in_outer[0], line);
    T* to = static_cast<T*>(x.out) + offset_at(x.outer, x.out_outer, line);
    wide_t<T> sum = 0;
    for (int64_t i = 0; i < x.width; ++i)
      put(to + i * x.out_stride, sum += static_cast<wide_t<T>>(load(from + i * x.in_stride[0])));
  }
}

/// The sum of v over the threads of the block before this one; `all` is that over all.
template <class W>
__device__ W sum_before(W v, W* all) {
  SHARED(W, of_warp, [scan_threads / 32]);
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  W sum = v;
  for (unsigned distance = 1; distance < 32; distance *= 2) {
    const W other = __shfl_up_sync(full_warp, sum, distance);
    if (lane >= distance) sum += other;
  }
  W before = __shfl_up_sync(full_warp, sum, 1);  // not sum - v, which an infinity makes NaN
  if (lane == 0) before = 0;
  __syncthreads();  // an earlier one may still be read
  if (lane == 31) of_warp[warp] = sum;
  __syncthreads();
  W earlier = 0, total = 0;
  for (unsigned w = 0; w < scan_threads / 32; ++w) {
    if (w < warp) earlier += of_warp[w];
    total += of_warp[w];
  }
  *all = total;
  return earlier + before;
}

/// A line for each block, a stretch of it at a time.
template <class T>
__global__ void __launch_bounds__(scan_threads) scan_block_kernel(Lines<1> x) {
  using W = wide_t<T>;
  for (int64_t line = blockIdx.x; line < x.count; line += gridDim.x) {
    const T* from = static_cast<const T*>(x.in[0]) + offset_at(x.outer, x.in_outer[0], line);
    T* to = static_cast<T*>(x.out) + offset_at(x.outer, x.out_outer, line);
    W carry = 0;
    for (int64_t first = 0; first < x.width; first += scan_threads * scan_each) {
      const int64_t mine = first + int64_t{threadIdx.x} * scan_each;
      W v[scan_each], sum = 0, all = 0;
      TUTTI_UNROLL
      for (int k = 0; k < scan_each; ++k) {
        v[k] = mine + k < x.width ? static_cast<W>(load(from + (mine + k) * x.in_stride[0])) : W{0};
        sum += v[k];
      }
      W running = carry + sum_before(sum, &all);
      carry += all;
      TUTTI_UNROLL
      for (int k = 0; k < scan_each; ++k)
        if (mine + k < x.width) put(to + (mine + k) * x.out_stride, running += v[k]);
    }
  }
}

template <class T>
struct Product {
  using W = wide_t<T>;
  struct Acc {
    W v;
  };
  using Param = Nothing;
  template <class C>
  __device__ Nothing param(const Fold&, int64_t, C) const {
    return {};
  }
  __device__ Acc none() const { return {W{1}}; }
  __device__ Acc combine(const Acc& a, const Acc& b) const { return {a.v * b.v}; }
  template <int V, class C>
  __device__ void add(Acc& a, const C (&x)[V], int64_t, Nothing) const {
    TUTTI_UNROLL
    for (int j = 0; j < V; ++j) a.v *= static_cast<W>(x[j]);
  }
  __device__ void finish(const Fold& x, int64_t r, const Acc& a) const { put(static_cast<T*>(x.out) + r, a.v); }
};

/// f(T{}) for the floating dtypes and int64.
template <class F>
void for_wide(DType t, const F& f) {
  if (t == DType::int64)
    f(int64_t{});
  else
    for_float(t, f);
}

}  // namespace

template <>
void kernel::cumsum::run<Here>(const Lines<1>& x) {
  if (x.count == 0 || x.width == 0) return;
  for_wide(x.dtype, [&]<class T>(T) {
    if (x.width <= short_line || (x.in_stride[0] != 1 && x.count >= many_lines)) {
      const int block = threads_for(x.count);
      return start(scan_thread_kernel<T>, blocks_for(x.count, block), block, 0, x);
    }
    start(scan_block_kernel<T>, blocks_for(x.count), scan_threads, 0, x);
  });
}

template <>
void kernel::prod::run<Here>(const Lines<1>& x, void* out) {
  Fold f{x.in[0], out, x.dtype, x.dtype, x.outer, x.in_outer[0], {}, {x.width}, {x.in_stride[0]}, x.count, x.width};
  for_wide(x.dtype, [&]<class T>(T) { fold_all<T>(f, Product<T>{}); });
}

}  // namespace tutti
