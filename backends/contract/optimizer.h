// One step of an optimizer over all its tensors, and the passes over gradients before it: one dispatch for a whole
// model, since forty small tensors would otherwise cost forty.
#pragma once
#include "tutti/backends/contract/kernel.h"
#include "tutti/core/dtype.h"

namespace tutti {

/// One contiguous parameter: weights and gradient of `dtype`, the optimizer's state in the type that `dtype` is
/// computed in (float32 for the half types).
struct ParameterSlot {
  int64_t begin;  // elements in the slots before this one: the list is one range of elements, cut by size
  int64_t numel;
  DType dtype;
  void* weight;
  void* gradient;
  void* state[2];  // Adam: mean and square. SGD: velocity (null without momentum).
  double lr, weight_decay;
  double correction[2];  // Adam: lr / (1 - beta1^t) and 1 / sqrt(1 - beta2^t)
  bool first;            // SGD: the velocity becomes the gradient
};

/// The elements [0, total) of all slots, in order.
struct ParameterSlots {
  const ParameterSlot* slots;
  int64_t count, total;
  /// Elements of one piece of work, and of one partial result. 3 to 7 streams of float32 pass through the cache.
  static constexpr int64_t piece = 32768;
};

struct AdamConfig {
  double beta1, beta2, eps;
  bool decoupled;  // weight decay shrinks the weight (AdamW) instead of joining the gradient
};
struct SgdConfig {
  double momentum, dampening;
  bool nesterov;
};

namespace kernel {

/// m += (1 - beta1)(g - m); v = beta2 v + (1 - beta2) g^2; w -= c0 m / (sqrt(v) c1 + eps), c = correction.
struct adam_step : Kernel<adam_step, Gap::cuda> {
  template <class Target>
  static void run(ParameterSlots slots, AdamConfig config);
};

/// v = momentum v + (1 - dampening) g; w -= lr v (Nesterov: lr (g + momentum v)).
struct sgd_step : Kernel<sgd_step, Gap::cuda> {
  template <class Target>
  static void run(ParameterSlots slots, SgdConfig config);
};

/// partial[i] = sum of (scale * gradient)^2 over piece i.
struct gradient_square_sum : Kernel<gradient_square_sum, Gap::cuda> {
  template <class Target>
  static void run(ParameterSlots slots, double scale, double* partial);
};

/// partial[i] = largest |gradient| in piece i; NaN if there is a NaN.
struct gradient_largest : Kernel<gradient_largest, Gap::cuda> {
  template <class Target>
  static void run(ParameterSlots slots, double* partial);
};

/// gradient *= a, then *= b (two factors, for a product too small for the dtype).
struct gradient_scale : Kernel<gradient_scale, Gap::cuda> {
  template <class Target>
  static void run(ParameterSlots slots, double a, double b);
};

/// Limits every gradient element to [-limit, limit].
struct gradient_clamp : Kernel<gradient_clamp, Gap::cuda> {
  template <class Target>
  static void run(ParameterSlots slots, double limit);
};

}  // namespace kernel
}  // namespace tutti
