// Kernels of ops/feed_forward.h: two layers with an activation between them, a few rows at a time, so that what lies
// between the layers stays in a core's cache.
#pragma once
#include "tutti/backends/contract/kernel.h"
#include "tutti/backends/contract/unary.h"

namespace tutti::kernel {

/// y = f(x upᵀ + up_bias) downᵀ + down_bias. All of one dtype, float32 or float64, contiguous; the biases may be null.
struct FeedForward {
  Unary f;  ///< gelu, gelu_tanh or silu
  DType dtype;
  int64_t rows, in, hidden, out;
  const void *x, *up, *down;  ///< [rows, in], [hidden, in], [out, hidden]
  const void *up_bias, *down_bias;
};

/// Writes y [rows, out], and what f is given [rows, hidden] unless `given` is null.
struct feed_forward : Kernel<feed_forward, Gap::cuda, /*per_isa=*/false> {
  template <class Target>
  static void run(const FeedForward& p, void* y, void* given);
};

/// From dy [rows, out] and what f was given: the gradient there, d_given; its sums over the rows, up_bias's gradient
/// [hidden], unless null; dx [rows, in] unless null; and f(given) once more, which the gradient of `down` needs, unless
/// null. `result` may be `given` itself.
struct feed_forward_backward : Kernel<feed_forward_backward, Gap::cuda, /*per_isa=*/false> {
  template <class Target>
  static void run(const FeedForward& p, const void* dy, const void* given, void* d_given, void* d_up_bias, void* dx,
                  void* result);
};

}  // namespace tutti::kernel
