// What headers need that kernel files of every backend share.
#pragma once

/// Inlined even at -O2 and so never emitted as a shared symbol: kernel files are compiled once per instruction set, and
/// of an inline function the linker keeps one copy for everyone, perhaps the one that this CPU cannot run.
/// nvcc takes them for GPUs too.
#ifdef __CUDACC__
#define TUTTI_INLINE __host__ __device__ inline __attribute__((always_inline))
#else
#define TUTTI_INLINE inline __attribute__((always_inline))
#endif

/// In front of a short loop that is to be unrolled.
#if defined(__CUDA_ARCH__)
#define TUTTI_UNROLL _Pragma("unroll")
#elif defined(__CUDACC__) || defined(TUTTI_CUDA_EMULATED)  // the host's half of a .cu file; and where speed is nothing
#define TUTTI_UNROLL
#else
#define TUTTI_UNROLL _Pragma("GCC unroll 32")
#endif
