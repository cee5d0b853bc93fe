// Sums and maxima over a warp and over a block, in a fixed order.
#pragma once
#include "tutti/backends/cuda/device.h"

namespace tutti {
namespace {

constexpr unsigned full_warp = 0xffffffffu;

struct Add {
  template <class V>
  __device__ V operator()(V a, V b) const {
    return a + b;
  }
};
/// NaN if either is.
struct Larger {
  template <class V>
  __device__ V operator()(V a, V b) const {
    return a > b || a != a ? a : b;
  }
};

/// Every thread of the warp gets the result.
template <class Op, class V>
__device__ V warp_reduce(Op op, V v) {
  for (int offset = 16; offset; offset >>= 1) v = op(v, __shfl_xor_sync(full_warp, v, offset));
  return v;
}
template <class V>
__device__ V warp_sum(V v) {
  return warp_reduce(Add{}, v);
}
template <class V>
__device__ V warp_max(V v) {
  return warp_reduce(Larger{}, v);
}

/// Every thread of the block (whole warps, all of them here) gets the result. `none` is what adds nothing.
template <class Op, class V>
__device__ V block_reduce(Op op, V v, V none) {
  SHARED(V, of_warp, [32]);
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
  v = warp_reduce(op, v);
  __syncthreads();  // an earlier reduction may still be read
  if (lane == 0) of_warp[warp] = v;
  __syncthreads();
  return warp_reduce(op, lane < warps ? of_warp[lane] : none);
}
template <class V>
__device__ V block_sum(V v) {
  return block_reduce(Add{}, v, V{0});
}
template <class V>
__device__ V block_max(V v) {
  return block_reduce(Larger{}, v, -static_cast<V>(INFINITY));
}

}  // namespace
}  // namespace tutti
