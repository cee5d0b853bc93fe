// Products of matrices on tensor cores: by wmma, and by mma.sync on what ldmatrix brings. A warp takes a tile.
#include "block_reduce.h"
#include "kernels.h"

namespace kernels {
namespace {

using namespace nvcuda;

__device__ inline int lane_of() { return static_cast<int>(threadIdx.x); }

/// A tile of a row-major matrix into shared memory, zeros where it hangs over.
template <class T>
__device__ void load_tile(T* to, int pitch, int height, int width, const T* from, int rows, int columns, int row0,
                          int column0) {
  for (int i = lane_of(); i < height * width; i += 32) {
    const int r = i / width, c = i % width;
    to[r * pitch + c] =
        row0 + r < rows && column0 + c < columns ? from[int64_t{row0 + r} * columns + column0 + c] : T(0.0f);
  }
}
__device__ void store_tile(const float* from, int height, int width, float* to, int rows, int columns, int row0,
                           int column0) {
  for (int i = lane_of(); i < height * width; i += 32) {
    const int r = i / width, c = i % width;
    if (row0 + r < rows && column0 + c < columns) to[int64_t{row0 + r} * columns + column0 + c] = from[i];
  }
}

template <class T, class Element, int depth>
__global__ void wmma_kernel(const T* a, const T* b, float* c, int m, int n, int k) {
  SHARED_ALIGNED(32, T, as, [16 * depth]);
  SHARED_ALIGNED(32, T, bs, [depth * 16]);
  SHARED_ALIGNED(32, float, cs, [16 * 16]);
  const int row0 = static_cast<int>(blockIdx.y) * 16, column0 = static_cast<int>(blockIdx.x) * 16;
  wmma::fragment<wmma::matrix_a, 16, 16, depth, Element, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, depth, Element, wmma::row_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, depth, float> fc;
  wmma::fill_fragment(fc, 0.0f);
  for (int k0 = 0; k0 < k; k0 += depth) {
    load_tile(as, depth, 16, depth, a, m, k, row0, k0);
    load_tile(bs, 16, depth, 16, b, k, n, k0, column0);
    __syncwarp();
    wmma::load_matrix_sync(fa, as, depth);
    wmma::load_matrix_sync(fb, bs, 16);
    if constexpr (sizeof(T) == 4) {
      for (int i = 0; i < fa.num_elements; ++i) fa.x[i] = wmma::__float_to_tf32(fa.x[i]);
      for (int i = 0; i < fb.num_elements; ++i) fb.x[i] = wmma::__float_to_tf32(fb.x[i]);
    }
    wmma::mma_sync(fc, fa, fb, fc);
    __syncwarp();
  }
  wmma::store_matrix_sync(cs, fc, 16, wmma::mem_row_major);
  __syncwarp();
  store_tile(cs, 16, 16, c, m, n, row0, column0);
}

/// 16 x 8 of c, from fragments in registers.
__device__ void store_fragment(const float (&d)[4], float* c, int m, int n, int row0, int column0) {
  for (int r = 0; r < 4; ++r) {
    const int i = row0 + lane_of() / 4 + 8 * (r >> 1), j = column0 + 2 * (lane_of() % 4) + (r & 1);
    if (i < m && j < n) c[int64_t{i} * n + j] = d[r];
  }
}

__global__ void mma_kernel(const __nv_bfloat16* a, const __nv_bfloat16* b, float* c, int m, int n, int k) {
  constexpr int pitch = 24;  // 48 bytes: rows eight apart fall into different banks
  SHARED_ALIGNED(16, __nv_bfloat16, as, [16 * pitch]);
  SHARED_ALIGNED(16, __nv_bfloat16, bs, [16 * 8]);
  const int row0 = static_cast<int>(blockIdx.y) * 16, column0 = static_cast<int>(blockIdx.x) * 8, lane = lane_of();
  float d[4] = {0, 0, 0, 0};
  for (int k0 = 0; k0 < k; k0 += 16) {
    load_tile(as, pitch, 16, 16, a, m, k, row0, k0);
    load_tile(bs, 8, 16, 8, b, k, n, k0, column0);
    __syncwarp();
    unsigned fa[4], fb[2];
    ptx::ldmatrix_x4(fa, as + lane % 16 * pitch + lane / 16 * 8);
    ptx::ldmatrix_x2_trans(fb, bs + lane % 16 * 8);
    ptx::mma_bf16_16x8x16(d, fa, fb, d);
    __syncwarp();
  }
  store_fragment(d, c, m, n, row0, column0);
}

__global__ void mma_tf32_kernel(const float* a, const float* b, float* c, int m, int n, int k) {
  SHARED(float, as, [16 * 9]);
  SHARED(float, bs, [8 * 9]);
  const int row0 = static_cast<int>(blockIdx.y) * 16, column0 = static_cast<int>(blockIdx.x) * 8, g = lane_of() / 4,
            t = lane_of() % 4;
  float d[4] = {0, 0, 0, 0};
  for (int k0 = 0; k0 < k; k0 += 8) {
    load_tile(as, 9, 16, 8, a, m, k, row0, k0);
    load_tile(bs, 9, 8, 8, b, k, n, k0, column0);
    __syncwarp();
    const unsigned fa[4] = {__float_as_uint(as[g * 9 + t]), __float_as_uint(as[(g + 8) * 9 + t]),
                            __float_as_uint(as[g * 9 + t + 4]), __float_as_uint(as[(g + 8) * 9 + t + 4])};
    const unsigned fb[2] = {__float_as_uint(bs[t * 9 + g]), __float_as_uint(bs[(t + 4) * 9 + g])};
    ptx::mma_tf32_16x8x8(d, fa, fb, d);
    __syncwarp();
  }
  store_fragment(d, c, m, n, row0, column0);
}

dim3 tiles(int m, int n, int width) {
  return dim3(static_cast<unsigned>((n + width - 1) / width), static_cast<unsigned>((m + 15) / 16));
}

}  // namespace

void matmul_wmma(const __nv_bfloat16* a, const __nv_bfloat16* b, float* c, int m, int n, int k, cudaStream_t stream) {
  launch(wmma_kernel<__nv_bfloat16, __nv_bfloat16, 16>, tiles(m, n, 16), dim3(32), 0, stream, a, b, c, m, n, k);
}
void matmul_wmma_tf32(const float* a, const float* b, float* c, int m, int n, int k, cudaStream_t stream) {
  launch(wmma_kernel<float, wmma::precision::tf32, 8>, tiles(m, n, 16), dim3(32), 0, stream, a, b, c, m, n, k);
}
void matmul_mma(const __nv_bfloat16* a, const __nv_bfloat16* b, float* c, int m, int n, int k, cudaStream_t stream) {
  launch(mma_kernel, tiles(m, n, 8), dim3(32), 0, stream, a, b, c, m, n, k);
}
void matmul_mma_tf32(const float* a, const float* b, float* c, int m, int n, int k, cudaStream_t stream) {
  launch(mma_tf32_kernel, tiles(m, n, 8), dim3(32), 0, stream, a, b, c, m, n, k);
}

}  // namespace kernels
