// For copy.cu: copies whose input lies along another axis than the output, by tiles through shared memory.
#pragma once
#include "tutti/backends/cuda/device.h"

namespace tutti {
namespace {

/// to[r * to_stride + c] = from[c * from_stride + r] over a grid of such matrices. Sizes and strides in elements.
struct Transpose {
  const void* from;
  void* to;
  int64_t rows, cols, to_stride, from_stride;
  int64_t matrices;
  Dims grid, to_grid, from_grid;
};

constexpr int tile_words = 32;  // a warp reads, and writes, as many words
constexpr int tile_threads = 256;

/// A word is P elements, 4 bytes where the layout allows. A tile is 32 * P elements each way. It lies in shared memory
/// as it was read: a word is P rows of one column. Each thread then takes words of P columns and exchanges P x P
/// elements in registers. Column c is kept in row c % P * 32 + c / P: a warp that takes each P-th column meets every
/// bank once.
template <class T, int P>
__global__ void transpose_kernel(Transpose t, uint32_t tiles) {
  using Word = Pack<T, P>;
  constexpr int size = tile_words * P, warps = tile_threads / 32;
  SHARED(Word, tile, [size][tile_words + 1]);
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const auto across = static_cast<uint32_t>((t.cols + size - 1) / size);
  const auto down = static_cast<uint32_t>((t.rows + size - 1) / size);
  for (uint32_t i = blockIdx.x; i < tiles; i += gridDim.x) {
    const int64_t col = int64_t{i % across} * size, row = int64_t{i / across % down} * size;
    uint32_t matrix = i / across / down;
    const T* from = static_cast<const T*>(t.from);
    T* to = static_cast<T*>(t.to);
    for (int k = t.grid.n - 1; k >= 0; --k) {
      const auto n = static_cast<uint32_t>(t.grid[k]);
      from += matrix % n * t.from_grid[k];
      to += matrix % n * t.to_grid[k];
      matrix /= n;
    }
    const int64_t r = row + lane * P;
    TUTTI_UNROLL
    for (int j = 0; j < size; j += warps) {
      const int c = j + warp;
      if (r < t.rows && col + c < t.cols)
        tile[c % P * tile_words + c / P][lane] = *reinterpret_cast<const Word*>(from + (col + c) * t.from_stride + r);
    }
    __syncthreads();
    const int64_t c = col + lane * P;
    TUTTI_UNROLL
    for (int j = 0; j < tile_words; j += warps) {
      const int word = j + warp;  // of P rows
      if (c < t.cols && row + word * P < t.rows) {
        Word in[P];
        TUTTI_UNROLL
        for (int k = 0; k < P; ++k) in[k] = tile[k * tile_words + lane][word];
        TUTTI_UNROLL
        for (int k = 0; k < P; ++k) {
          Word out;
          TUTTI_UNROLL
          for (int l = 0; l < P; ++l) out.v[l] = in[l].v[k];
          *reinterpret_cast<Word*>(to + (row + word * P + k) * t.to_stride + c) = out;
        }
      }
    }
    __syncthreads();  // the next tile comes into the same memory
  }
}

/// False if there are too many tiles for the kernel.
template <class T>
bool transpose(const Transpose& t) {
  constexpr int P = sizeof(T) < 4 ? static_cast<int>(4 / sizeof(T)) : 1;
  const auto fits = [&](const void* data, int64_t stride, const Dims& grid) {
    bool all = reinterpret_cast<uintptr_t>(data) % (sizeof(T) * P) == 0 && stride % P == 0;
    for (int64_t s : grid) all = all && s % P == 0;
    return all;
  };
  const bool words = t.rows % P == 0 && t.cols % P == 0 && fits(t.from, t.from_stride, t.from_grid) &&
                     fits(t.to, t.to_stride, t.to_grid);
  const auto run = [&]<int width>(std::integral_constant<int, width>) {
    constexpr int size = tile_words * width;
    const int64_t tiles = (t.rows + size - 1) / size * ((t.cols + size - 1) / size) * t.matrices;
    if (tiles >= int64_t{1} << 31) return false;
    start(transpose_kernel<T, width>, blocks_for(tiles), tile_threads, 0, t, static_cast<uint32_t>(tiles));
    return true;
  };
  return words ? run(std::integral_constant<int, P>{}) : run(std::integral_constant<int, 1>{});
}

}  // namespace
}  // namespace tutti
