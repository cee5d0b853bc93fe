// What the machine can do, on the instruction set and the threads in use: kernels that do nothing else.
#pragma once
#include <cstdint>

#include "tutti/backends/contract/kernel.h"

namespace bench {

/// Multiply-adds of independent registers, `times` rounds on each of `threads` pieces; the floating-point operations
/// that these were.
struct peak_fma : tutti::Kernel<peak_fma, tutti::Gap::cuda> {
  template <class Target>
  static double run(int64_t threads, int64_t times);
};

enum class Traffic { read, copy, triad };

/// Of n numbers each, cut into `threads` pieces, `times` over each piece: read sums b; copy is a = b; triad is
/// a = b + s c (McCalpin 1995, "Memory bandwidth and machine balance in current high performance computers").
struct peak_traffic : tutti::Kernel<peak_traffic, tutti::Gap::cuda> {
  template <class Target>
  static void run(Traffic what, int64_t threads, int64_t times, int64_t n, float* a, const float* b, const float* c);
};

}  // namespace bench
