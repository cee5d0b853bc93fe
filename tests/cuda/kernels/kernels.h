// Right kernels of real kinds, for the emulator's own tests: each keeps to the rules of backends/cuda/compat.h.
// Matrices are row-major and dense.
#pragma once
#include <cuda_bf16.h>
#include <cuda_runtime_api.h>

#include <cstdint>

namespace kernels {

void softmax(const float* x, float* y, int64_t rows, int64_t width, cudaStream_t stream);
void softmax(const __nv_bfloat16* x, __nv_bfloat16* y, int64_t rows, int64_t width, cudaStream_t stream);
void layer_norm(const float* x, const float* weight, const float* bias, float* y, int64_t rows, int64_t width,
                float eps, cudaStream_t stream);

/// c[m][n] = a[m][k] * b[k][n].
void matmul_tiled(const float* a, const float* b, float* c, int m, int n, int k, cudaStream_t stream);
void matmul_pipelined(const float* a, const float* b, float* c, int m, int n, int k,
                      cudaStream_t stream);  ///< cp.async, two stages
void matmul_wmma(const __nv_bfloat16* a, const __nv_bfloat16* b, float* c, int m, int n, int k, cudaStream_t stream);
void matmul_wmma_tf32(const float* a, const float* b, float* c, int m, int n, int k, cudaStream_t stream);
void matmul_mma(const __nv_bfloat16* a, const __nv_bfloat16* b, float* c, int m, int n, int k,
                cudaStream_t stream);  ///< ldmatrix
void matmul_mma_tf32(const float* a, const float* b, float* c, int m, int n, int k, cudaStream_t stream);

/// The sum, in a fixed order, by the block that finishes last. `partial` has room for 64, `ticket` is zero before and
/// after.
void sum_last_block(const float* x, int64_t n, float* partial, unsigned* ticket, float* result, cudaStream_t stream);
/// Numbers in [0, bins), bins <= 256; `counts` is zeroed here.
void histogram(const int* x, int64_t n, int bins, int* counts, cudaStream_t stream);
/// One block: y[i] = x[0] + ... + x[i], n <= 1024.
void prefix_sum(const int* x, int* y, int n, cudaStream_t stream);
/// One block: what each collective of a warp gives; out has 12 numbers for each of n threads (a multiple of 32).
void collectives(const int* x, int* out, int n, cudaStream_t stream);
constexpr int collective_count = 12;
/// One block with `bytes` of dynamic shared memory, which it writes and sums. Allowed before, if `allow`.
void dynamic_shared(float* result, size_t bytes, bool allow, cudaStream_t stream);
void add(float* x, float value, int64_t n, cudaStream_t stream);  ///< x[i] += value

}  // namespace kernels
