// Constants and sequences.
#include "tutti/backends/contract/create.h"

#include "tutti/backends/cuda/device.h"

namespace tutti::kernel {
namespace {

/// Packs of V elements along the rows. What is left of a single row, fewer than V elements, is written one by one.
template <int V, class T, class Index>
__global__ void fill_kernel(Rows y, Index packs, T value) {
  Pack<T, V> pack;
  TUTTI_UNROLL
  for (T& v : pack.v) v = value;
  T* to = static_cast<T*>(y.data);
  const auto per_row = static_cast<Index>(y.width / V), step = static_cast<Index>(thread_count());
  for (auto i = static_cast<Index>(thread_index()); i < packs; i += step) {
    int64_t at = i;
    if (y.count != 1) {
      Index row = i / per_row;
      at = i % per_row;
      at *= V * y.stride;
      for (int k = y.outer.n - 1; k >= 0; --k) {
        const auto size = static_cast<Index>(y.outer[k]);
        at += static_cast<int64_t>(k == 0 ? row : row % size) * y.outer_strides[k];
        row /= size;
      }
    } else {
      at *= V * y.stride;
    }
    *reinterpret_cast<Pack<T, V>*>(to + at) = pack;
  }
  if constexpr (V > 1)
    if (const int64_t rest = y.width / V * V + thread_index(); rest < y.width && y.count == 1) to[rest] = value;
}

template <class T>
void fill_with(const Rows& y, T value) {
  constexpr int V = 16 / sizeof(T);
  bool packed =
      y.stride == 1 && reinterpret_cast<uintptr_t>(y.data) % 16 == 0 && (y.count == 1 ? y.width >= V : y.width % V == 0);
  for (int k = 0; k < y.outer.n; ++k) packed = packed && y.outer_strides[k] % V == 0;
  const auto run = [&]<int width, class Index>(std::integral_constant<int, width>, Index) {
    const int64_t packs = y.width / width * y.count;
    const int block = threads_for(packs);
    start(fill_kernel<width, T, Index>, blocks_for(packs, block), block, 0, y, static_cast<Index>(packs), value);
  };
  const bool large = y.width * y.count >= int64_t{1} << 31;
  if (packed && large)
    run(std::integral_constant<int, V>{}, uint64_t{});
  else if (packed)
    run(std::integral_constant<int, V>{}, uint32_t{});
  else if (large)
    run(std::integral_constant<int, 1>{}, uint64_t{});
  else
    run(std::integral_constant<int, 1>{}, uint32_t{});
}

/// y[i] = at(i, T{}), a Number.
template <class T, class F>
__global__ void sequence_kernel(T* y, int64_t n, DType dtype, F at) {
  for (int64_t i = thread_index(); i < n; i += thread_count()) y[i] = Number(at(i, T{})).template element<T>(dtype);
}
template <class F>
void sequence(const Rows& y, const F& at) {
  if (y.width == 0) return;
  for_any(y.dtype, [&]<class T>(T) {
    const int block = threads_for(y.width);
    start(sequence_kernel<T, F>, blocks_for(y.width, block), block, 0, static_cast<T*>(y.data), y.width, y.dtype, at);
  });
}

struct Range {
  double first, step;
  uint64_t whole_first, whole_step;
  template <class T>
  __device__ auto operator()(int64_t i, T) const {
    if constexpr (std::is_integral_v<T>)  // the sum lies in range, though i * step may not
      return static_cast<int64_t>(whole_first + static_cast<uint64_t>(i) * whole_step);
    else
      return first + static_cast<double>(i) * step;
  }
};

struct Between {
  double first, last, step;
  int64_t n;
  template <class T>
  __device__ double operator()(int64_t i, T) const {
    return i < (n + 1) / 2 ? first + static_cast<double>(i) * step : last - static_cast<double>(n - 1 - i) * step;
  }
};

}  // namespace

template <>
void fill::run<Here>(Rows y, Number value) {
  if (y.width == 0 || y.count == 0) return;
  for_any(y.dtype, [&]<class T>(T) {
    fill_with<bits_t<T>>(y, std::bit_cast<bits_t<T>>(value.element<T>(y.dtype)));
  });
}

template <>
void arange::run<Here>(Rows y, Number first, Number step) {
  const bool whole = !is_floating(y.dtype);
  sequence(y, Range{first.real(), step.real(), whole ? first.as<uint64_t>() : 0, whole ? step.as<uint64_t>() : 0});
}

template <>
void linspace::run<Here>(Rows y, double first, double last) {
  const double step = y.width > 1 ? (last - first) / static_cast<double>(y.width - 1) : 0;
  sequence(y, Between{first, last, step, y.width});
}

}  // namespace tutti::kernel
