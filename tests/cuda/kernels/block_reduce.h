// For .cu files: sums and maxima over a warp and over a block, and numbers as floats.
#pragma once
#include "tutti/backends/cuda/compat.h"

namespace kernels {
namespace {

constexpr unsigned full_warp = 0xffffffffu;

__device__ inline float load(const float* p) { return *p; }
__device__ inline float load(const __nv_bfloat16* p) { return __bfloat162float(*p); }
__device__ inline void store(float* p, float v) { *p = v; }
__device__ inline void store(__nv_bfloat16* p, float v) { *p = __float2bfloat16(v); }

struct Sum {
  static constexpr float neutral = 0;
  __device__ float operator()(float a, float b) const { return a + b; }
};
struct Max {
  static constexpr float neutral = -INFINITY;
  __device__ float operator()(float a, float b) const { return a > b ? a : b; }
};
template <class F>
__device__ float reduce_warp(float v) {
  for (int o = 16; o; o >>= 1) v = F{}(v, __shfl_xor_sync(full_warp, v, o));
  return v;
}
/// All threads of the block, a multiple of 32, get the result.
template <class F>
__device__ float reduce_block(float v) {
  SHARED(float, part, [32]);
  v = reduce_warp<F>(v);
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
  __syncthreads();  // the last use of part is over
  if (lane == 0) part[warp] = v;
  __syncthreads();
  return reduce_warp<F>(lane < warps ? part[lane] : F::neutral);
}
inline unsigned blocks_for(int64_t n) { return static_cast<unsigned>(n < 7 ? n : 7); }  // few: the loops go round

}  // namespace
}  // namespace kernels
