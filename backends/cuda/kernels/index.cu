// Checking indices, picking by them; triangles.
#include "tutti/backends/contract/index.h"

#include "tutti/backends/cuda/complain.h"
#include "tutti/backends/cuda/elementwise.h"

namespace tutti {
namespace {

constexpr int64_t narrow_limit = int64_t{1} << 31;  // below it numbers have 32 bits, which GPUs divide faster

/// Row and column of element i.
struct Cell {
  int64_t row, column;
};
template <class Index>
__device__ Cell cell_of(Index i, int64_t width) {
  const Index row = i / static_cast<Index>(width);
  return {static_cast<int64_t>(row), static_cast<int64_t>(i - row * static_cast<Index>(width))};
}

template <class Index>
__global__ void check_index_kernel(ConstRows index, int64_t limit, cuda::Check check) {
  const int64_t n = index.count * index.width;
  for (int64_t i = thread_index(); i < n; i += thread_count()) {
    const Cell cell = cell_of(static_cast<Index>(i), index.width);
    const int64_t at = offset_at(index.outer, index.outer_strides, cell.row) + cell.column * index.stride;
    const int64_t value = static_cast<const int64_t*>(index.data)[at];
    if (outside(value, limit)) complain(check, i, value);
  }
}

/// Packs of V along the innermost axis, where they have one index. What lies outside reads as zero: its error is on its
/// way.
template <class T, int V, class Index>
__global__ void gather_kernel(Elements<2> e, int64_t axis_stride, int64_t limit, Index packs) {
  const auto step = static_cast<Index>(thread_count());
  for (auto i = static_cast<Index>(thread_index()); i < packs; i += step) {
    int64_t out = 0, in = 0, at = 0;
    Index rest = i;
    for (int k = e.shape.n - 1; k >= 0; --k) {
      const bool innermost = k == e.shape.n - 1;
      const auto size = static_cast<Index>(innermost ? e.shape[k] / V : e.shape[k]);
      const auto here = static_cast<int64_t>(k == 0 ? rest : rest % size) * (innermost ? V : 1);
      rest /= size;
      out += here * e.out_strides[k];
      in += here * e.in_strides[0][k];
      at += here * e.in_strides[1][k];
    }
    const int64_t place = static_cast<const int64_t*>(e.in[1])[at];
    Pack<T, V> pack{};
    if (!outside(place, limit))
      pack = *reinterpret_cast<const Pack<T, V>*>(static_cast<const T*>(e.in[0]) + in + place * axis_stride);
    *reinterpret_cast<Pack<T, V>*>(static_cast<T*>(e.out) + out) = pack;
  }
}

template <class T, class Index>
__global__ void triangle_kernel(Rows y, ConstRows x, int64_t height, int64_t diagonal, bool lower) {
  const int64_t n = y.count * y.width;
  for (int64_t i = thread_index(); i < n; i += thread_count()) {
    const Cell cell = cell_of(static_cast<Index>(i), y.width);
    // The first column that lies beyond the diagonal (lower), or on it (upper).
    const int64_t edge = cell_of(static_cast<Index>(cell.row), height).column + diagonal + (lower ? 1 : 0);
    const bool kept = (cell.column < edge) == lower;
    const T* from = static_cast<const T*>(x.data) + offset_at(x.outer, x.outer_strides, cell.row);
    static_cast<T*>(y.data)[offset_at(y.outer, y.outer_strides, cell.row) + cell.column * y.stride] =
        kept ? from[cell.column * x.stride] : T{0};
  }
}

}  // namespace

template <>
void kernel::check_index::run<Here>(ConstRows index, int64_t limit, const char* op) {
  const int64_t n = index.count * index.width;
  if (n == 0) return;
  const cuda::Check check = cuda::begin_check(op, "index", limit);
  const int block = threads_for(n);
  start(n < narrow_limit ? check_index_kernel<uint32_t> : check_index_kernel<uint64_t>, blocks_for(n, block), block, 0,
        index, limit, check);
  cuda::end_check();
}

template <>
void kernel::gather::run<Here>(const Elements<2>& e, int64_t axis_stride, int64_t limit) {
  const int64_t n = e.shape.product();
  if (n == 0) return;
  for_size(e.out_dtype, [&]<class T>(T) {
    constexpr int V = static_cast<int>(16 / sizeof(T));
    const int last = e.shape.n - 1;
    const bool packed = last >= 0 && e.in_strides[1][last] == 0 && e.shape[last] % V == 0 && axis_stride % V == 0 &&
                        packs_fit(e.out, sizeof(T), e.out_strides, V, false) &&
                        packs_fit(e.in[0], sizeof(T), e.in_strides[0], V, false);
    const int64_t packs = packed ? n / V : n;
    const int block = threads_for(packs);
    const dim3 grid = blocks_for(packs, block);
    if (n >= narrow_limit)
      start(gather_kernel<T, 1, uint64_t>, blocks_for(n, block), block, 0, e, axis_stride, limit,
            static_cast<uint64_t>(n));
    else if (packed)
      start(gather_kernel<T, V, uint32_t>, grid, block, 0, e, axis_stride, limit, static_cast<uint32_t>(packs));
    else
      start(gather_kernel<T, 1, uint32_t>, grid, block, 0, e, axis_stride, limit, static_cast<uint32_t>(packs));
  });
}

template <>
void kernel::triangle::run<Here>(Rows y, ConstRows x, int64_t height, int64_t diagonal, bool lower) {
  const int64_t n = y.count * y.width;
  if (n == 0) return;
  for_size(y.dtype, [&]<class T>(T) {
    const int block = threads_for(n);
    start(n < narrow_limit ? triangle_kernel<T, uint32_t> : triangle_kernel<T, uint64_t>, blocks_for(n, block), block, 0,
          y, x, height, diagonal, lower);
  });
}

}  // namespace tutti
