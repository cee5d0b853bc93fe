// What threads do together: votes, shuffles, matches, atomics, the last block, dynamic shared memory.
#include "block_reduce.h"
#include "kernels.h"

namespace kernels {
namespace {

__global__ void sum_kernel(const float* x, int64_t n, float* partial, unsigned* ticket, float* result) {
  SHARED(int, last, [1]);
  float sum = 0;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += int64_t{gridDim.x} * blockDim.x)
    sum += x[i];
  sum = reduce_block<Sum>(sum);
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = sum;
    __threadfence();
    last[0] = atomicInc(ticket, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last[0]) return;  // the whole block
  const float part = threadIdx.x < gridDim.x ? partial[threadIdx.x] : 0.0f;
  sum = reduce_block<Sum>(part);
  if (threadIdx.x == 0) *result = sum;
}

/// Counted in shared memory first.
__global__ void histogram_kernel(const int* x, int64_t n, int bins, int* counts) {
  SHARED(int, here, [256]);
  for (int b = static_cast<int>(threadIdx.x); b < bins; b += static_cast<int>(blockDim.x)) here[b] = 0;
  __syncthreads();
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += int64_t{gridDim.x} * blockDim.x)
    atomicAdd(&here[x[i]], 1);
  __syncthreads();
  for (int b = static_cast<int>(threadIdx.x); b < bins; b += static_cast<int>(blockDim.x))
    if (here[b]) atomicAdd(&counts[b], here[b]);
}

__global__ void prefix_sum_kernel(const int* x, int* y, int n) {
  SHARED(int, totals, [32]);
  const int i = static_cast<int>(threadIdx.x), lane = i % 32, warp = i / 32;
  int v = i < n ? x[i] : 0;
  for (int o = 1; o < 32; o <<= 1) {
    const int left = __shfl_up_sync(full_warp, v, static_cast<unsigned>(o));
    if (lane >= o) v += left;
  }
  if (lane == 31) totals[warp] = v;
  __syncthreads();
  int before = 0;
  for (int w = 0; w < warp; ++w) before += totals[w];
  if (i < n) y[i] = v + before;
}

__global__ void collectives_kernel(const int* x, int* out) {
  const int i = static_cast<int>(threadIdx.x), v = x[i];
  int* r = out + i * collective_count;
  int all = 0;
  r[0] = __any_sync(full_warp, v > 3);
  r[1] = __all_sync(full_warp, v >= 0);
  r[2] = static_cast<int>(__ballot_sync(full_warp, v & 1));
  r[3] = __shfl_sync(full_warp, v, 3, 8);
  r[4] = __shfl_down_sync(full_warp, v, 2u);
  r[5] = static_cast<int>(__match_any_sync(full_warp, v));
  r[6] = static_cast<int>(__match_all_sync(full_warp, v, &all)) + all;
  r[7] = __reduce_add_sync(full_warp, v);
  r[8] = __reduce_max_sync(full_warp, v);
  r[9] = static_cast<int>(__reduce_xor_sync(full_warp, static_cast<unsigned>(v)));
  r[10] = __syncthreads_count(v & 1);
  r[11] = __syncthreads_or(v == 6) + 2 * __syncthreads_and(v < 1000);
}

__global__ void dynamic_shared_kernel(float* result, int n) {
  SHARED_DYN(float, memory);
  for (int i = static_cast<int>(threadIdx.x); i < n; i += static_cast<int>(blockDim.x))
    memory[i] = static_cast<float>(i % 7);
  __syncthreads();
  float sum = 0;
  for (int i = static_cast<int>(threadIdx.x); i < n; i += static_cast<int>(blockDim.x)) sum += memory[n - 1 - i];
  sum = reduce_block<Sum>(sum);
  if (threadIdx.x == 0) *result = sum;
}

__global__ void add_kernel(float* x, float value, int64_t n) {
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += int64_t{gridDim.x} * blockDim.x)
    x[i] += value;
}

}  // namespace

void sum_last_block(const float* x, int64_t n, float* partial, unsigned* ticket, float* result, cudaStream_t stream) {
  launch(sum_kernel, dim3(blocks_for((n + 63) / 64)), dim3(64), 0, stream, x, n, partial, ticket, result);
}
void histogram(const int* x, int64_t n, int bins, int* counts, cudaStream_t stream) {
  cudaMemsetAsync(counts, 0, static_cast<size_t>(bins) * sizeof(int), stream);
  launch(histogram_kernel, dim3(blocks_for((n + 63) / 64)), dim3(64), 0, stream, x, n, bins, counts);
}
void prefix_sum(const int* x, int* y, int n, cudaStream_t stream) {
  launch(prefix_sum_kernel, dim3(1), dim3(static_cast<unsigned>((n + 31) / 32 * 32)), 0, stream, x, y, n);
}
void collectives(const int* x, int* out, int n, cudaStream_t stream) {
  launch(collectives_kernel, dim3(1), dim3(static_cast<unsigned>(n)), 0, stream, x, out);
}
void dynamic_shared(float* result, size_t bytes, bool allow, cudaStream_t stream) {
  if (allow) allow_shared(dynamic_shared_kernel, bytes);
  launch(dynamic_shared_kernel, dim3(1), dim3(64), bytes, stream, result, static_cast<int>(bytes / sizeof(float)));
}
void add(float* x, float value, int64_t n, cudaStream_t stream) {
  if (n > 0) launch(add_kernel, dim3(blocks_for((n + 63) / 64)), dim3(64), 0, stream, x, value, n);
}

}  // namespace kernels
