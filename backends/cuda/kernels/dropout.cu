// Dropout: the CPU's mask, bit for bit.
#include "tutti/backends/contract/random.h"

#include "tutti/backends/cuda/elementwise.h"
#include "tutti/core/philox.h"

namespace tutti {
namespace {

/// A dropped NaN is a zero too.
template <class T>
__device__ void drop(T* y, const T* x, uint32_t word, uint32_t threshold, compute_t<T> scale) {
  store(y, word < threshold ? compute_t<T>(0) : load(x) * scale);
}

/// The element of the input that is number i in row-major order.
template <class Index>
__device__ int64_t input_offset(const Elements<1>& e, Index i) {
  int64_t at = 0;
  for (int k = e.shape.n - 1; k >= 0; --k) {
    const auto size = static_cast<Index>(e.shape[k]);
    at += static_cast<int64_t>(k == 0 ? i : i % size) * e.in_strides[0][k];
    i /= size;
  }
  return at;
}

/// Packs of V elements, V / 4 blocks of words. With `packed` those of the input lie side by side; the last elements,
/// fewer than V, go one by one.
template <bool packed, int V, class T, class Index>
__global__ void dropout_kernel(Elements<1> e, Index n, DrawKey draw, uint32_t threshold, compute_t<T> scale) {
  const RandomKey key = draw.now();
  const T* x = static_cast<const T*>(e.in[0]);
  T* y = static_cast<T*>(e.out);
  const auto step = static_cast<Index>(thread_count());
  const Index packs = (n + V - 1) / V;
  for (auto i = static_cast<Index>(thread_index()); i < packs; i += step) {
    const Index first = i * V;
    const bool whole = n - first >= V;
    Pack<T, V> in, out;
    if (packed && whole) {
      in = *reinterpret_cast<const Pack<T, V>*>(x + input_offset(e, first));
    } else {
      TUTTI_UNROLL
      for (int j = 0; j < V; ++j) in.v[j] = x[input_offset(e, first + j < n ? static_cast<Index>(first + j) : first)];
    }
    TUTTI_UNROLL
    for (int b = 0; b < V / 4; ++b) {
      const Philox4 words = philox(key, uint64_t{i} * (V / 4) + static_cast<uint64_t>(b));
      TUTTI_UNROLL
      for (int j = 0; j < 4; ++j) drop(&out.v[4 * b + j], &in.v[4 * b + j], words.v[j], threshold, scale);
    }
    if (whole) {
      *reinterpret_cast<Pack<T, V>*>(y + first) = out;
    } else {
      TUTTI_UNROLL
      for (int j = 0; j < V; ++j)
        if (first + j < n) y[first + j] = out.v[j];
    }
  }
}

}  // namespace

template <>
void kernel::dropout::run<Here>(const Elements<1>& e, DrawKey key, uint32_t threshold, double scale) {
  const int64_t n = e.shape.product();
  if (n == 0) return;
  for_float(e.out_dtype, [&]<class T>(T) {
    constexpr int V = sizeof(T) == 2 ? 8 : 4;
    const int last = e.shape.n - 1;
    const bool packed =
        last >= 0 && (last == 0 || e.shape[last] % V == 0) && packs_fit(e.in[0], sizeof(T), e.in_strides[0], V, false);
    const auto run = [&]<bool fits, class Index>(std::bool_constant<fits>, Index) {
      const int64_t packs = (n + V - 1) / V;
      const int block = threads_for(packs);
      start(dropout_kernel<fits, V, T, Index>, blocks_for(packs, block), block, 0, e, static_cast<Index>(n), key,
            threshold, static_cast<compute_t<T>>(scale));
    };
    if (n >= int64_t{1} << 31)
      run(std::false_type{}, uint64_t{});
    else if (packed)
      run(std::true_type{}, uint32_t{});
    else
      run(std::false_type{}, uint32_t{});
  });
}

}  // namespace tutti
