// Products of matrices on plain FMAs: tiles in shared memory, loaded at once or ahead by asynchronous copies.
#include "block_reduce.h"
#include "kernels.h"

namespace kernels {
namespace {

constexpr int tile = 16;

__global__ void tiled_kernel(const float* a, const float* b, float* c, int m, int n, int k) {
  SHARED(float, as, [tile][tile + 1]);
  SHARED(float, bs, [tile][tile + 1]);
  const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
  const int row = static_cast<int>(blockIdx.y) * tile + y, column = static_cast<int>(blockIdx.x) * tile + x;
  float sum = 0;
  for (int k0 = 0; k0 < k; k0 += tile) {
    as[y][x] = row < m && k0 + x < k ? a[int64_t{row} * k + k0 + x] : 0.0f;
    bs[y][x] = k0 + y < k && column < n ? b[int64_t{k0 + y} * n + column] : 0.0f;
    __syncthreads();
    for (int i = 0; i < tile; ++i) sum = fmaf(as[y][i], bs[i][x], sum);
    __syncthreads();
  }
  if (row < m && column < n) c[int64_t{row} * n + column] = sum;
}

/// While one stage is multiplied, the next one is on its way. Copies of 16 bytes where rows are a multiple of that,
/// else of 4.
template <int numbers>
__global__ void pipelined_kernel(const float* a, const float* b, float* c, int m, int n, int k) {
  SHARED_ALIGNED(16, float, as, [2][tile][tile]);
  SHARED_ALIGNED(16, float, bs, [2][tile][tile]);
  const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y), id = y * tile + x;
  const int row0 = static_cast<int>(blockIdx.y) * tile, column0 = static_cast<int>(blockIdx.x) * tile;
  const auto copy = [&](float* to, const float* from, int64_t at, bool inside) {
    __pipeline_memcpy_async(to, inside ? from + at : from, 4 * numbers, inside ? 0 : 4 * numbers);
  };
  const auto fetch = [&](int stage, int k0) {
    if (id < tile * tile / numbers) {
      const int i = id / (tile / numbers), j = id % (tile / numbers) * numbers;
      copy(&as[stage][i][j], a, int64_t{row0 + i} * k + k0 + j, row0 + i < m && k0 + j < k);
      copy(&bs[stage][i][j], b, int64_t{k0 + i} * n + column0 + j, k0 + i < k && column0 + j < n);
    }
    __pipeline_commit();
  };
  float sum = 0;
  fetch(0, 0);
  for (int k0 = 0, stage = 0; k0 < k; k0 += tile, stage ^= 1) {
    if (k0 + tile < k) {
      fetch(stage ^ 1, k0 + tile);
      __pipeline_wait_prior(1);
    } else {
      __pipeline_wait_prior(0);
    }
    __syncthreads();
    for (int i = 0; i < tile; ++i) sum = fmaf(as[stage][y][i], bs[stage][i][x], sum);
    __syncthreads();
  }
  if (row0 + y < m && column0 + x < n) c[int64_t{row0 + y} * n + column0 + x] = sum;
}

dim3 tiles(int m, int n) {
  return dim3(static_cast<unsigned>((n + tile - 1) / tile), static_cast<unsigned>((m + tile - 1) / tile));
}

}  // namespace

void matmul_tiled(const float* a, const float* b, float* c, int m, int n, int k, cudaStream_t stream) {
  launch(tiled_kernel, tiles(m, n), dim3(tile, tile), 0, stream, a, b, c, m, n, k);
}
void matmul_pipelined(const float* a, const float* b, float* c, int m, int n, int k, cudaStream_t stream) {
  const bool by_four = n % 4 == 0 && k % 4 == 0;
  launch(by_four ? pipelined_kernel<4> : pipelined_kernel<1>, tiles(m, n), dim3(tile, tile), 0, stream, a, b, c, m, n,
         k);
}

}  // namespace kernels
