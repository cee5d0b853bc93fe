// What every .cu file includes first. nvcc and the ordinary C++ compiler (against tests/cuda/emulator, which runs a
// fiber per CUDA thread) both take such a file, if it keeps to this:
//
//  1. Kernels and their helpers stand in an unnamed namespace, that in a named one (nvcc takes a global one and
//     tutti's for each other). A launch is launch(kernel, grid, block, shared bytes, stream, arguments...), never
//     <<<>>>; arguments are trivially copyable, 4 KB in all.
//  2. Shared memory is SHARED, SHARED_ALIGNED, SHARED_DYN or SHARED_DYN_ALIGNED. float4 needs the 16 bytes that
//     SHARED_DYN has and SHARED of floats has not, and a pitch that is a multiple of 16 bytes; wmma needs 32.
//  3. Warp calls are the *_sync ones with the full mask, in blocks of whole warps, outside divergent branches;
//     __syncwarp() stands between the two sides of an exchange through shared memory.
//  4. Every thread reaches every barrier: guard the work, not the barrier. A buffer that is used again needs a
//     barrier before it.
//  5. Sums have a fixed order. atomicAdd only into zeroed memory and where the order may not matter: results
//     repeat bit for bit.
//  6. PTX only in ptx.h, whose functions have a CPU twin; wmma and __pipeline_memcpy_async are there. A kernel for
//     tensor cores has a plain twin, and a test compares them.
//  7. Types are template arguments, sums are float. Offsets have 64 bits. Loops stride over the grid and nothing
//     depends on its size; y and z stay under 65536; work of size zero launches nothing.
//  8. Every host call names a stream; every launch is checked; the host waits before it reads.
//  9. Each kernel is tested at sizes 1, 31, 33, a prime and beyond the grid's stride, in all three builds of the
//     emulator.
//
// No __constant__, __device__ variables, textures, dynamic parallelism, cooperative groups, clusters or TMA.
#pragma once
#include "tutti/core/inline.h"

#ifdef __CUDACC__

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_pipeline_primitives.h>
#include <cuda_runtime.h>
#include <mma.h>

#include <cstddef>
#include <type_traits>

#include "ptx.h"

/// SHARED(float, tile, [32][33]); declares shared memory of the block, uninitialised.
#define SHARED(type, name, ...) __shared__ type name __VA_ARGS__
#define SHARED_ALIGNED(alignment, type, name, ...) \
  __shared__ __align__(alignment)                  \
  type name __VA_ARGS__
/// SHARED_DYN(float, rows); `float* rows` is the memory that launch() was told of, aligned to 16 bytes.
#define SHARED_DYN(type, name) SHARED_DYN_ALIGNED(16, type, name)
#define SHARED_DYN_ALIGNED(alignment, type, name) \
  extern __shared__ __align__(alignment)          \
  unsigned char name##_bytes[];                   \
  type* name = reinterpret_cast<type*>(name##_bytes)

/// Starts a kernel. Errors by cudaGetLastError().
template <class... P, class... A>
void launch(void (*kernel)(P...), dim3 grid, dim3 block, size_t shared, cudaStream_t stream, A&&... arguments) {
  static_assert((std::is_trivially_copyable_v<P> && ...), "a kernel's arguments are copied as bytes");
  static_assert((sizeof(P) + ... + 0) <= 4096, "a kernel's arguments are 4 KB at most");
  kernel<<<grid, block, shared, stream>>>(static_cast<P>(arguments)...);
}

#else
#include "cuda_emulator.h"
#endif

/// Lets a kernel have more than 48 KB of dynamic shared memory: up to 163 KB on sm_80, 227 KB on sm_90.
template <class... P>
cudaError_t allow_shared(void (*kernel)(P...), size_t bytes) {
  return cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel), cudaFuncAttributeMaxDynamicSharedMemorySize,
                              static_cast<int>(bytes));
}
