// One step of an optimizer over all its tensors, and the passes over gradients before it: one dispatch for a whole
// model, since forty small tensors would otherwise cost forty.
#pragma once
#include "tutti/backends/contract/kernel.h"
#include "tutti/core/dtype.h"

namespace tutti {

/// One contiguous parameter: weights and gradient of `dtype`, the optimizer's state in the type that `dtype` is
/// computed in (float32 for the half types). The same from step to step while gradients keep their addresses.
struct ParameterSlot {
  int64_t begin;  // elements in the slots before this one: the list is one range of elements, cut by size
  int64_t numel;
  void* weight;
  void* gradient;
  void* state[2];  // Adam: mean and square. SGD: velocity (null without momentum).
  int32_t rates;   // which of the list's
  DType dtype;
  bool operator==(const ParameterSlot&) const = default;
};

/// What changes from step to step; one for all parameters of a group that have taken as many steps.
struct ParameterRates {
  double lr, weight_decay;
  double correction[2];  // Adam: lr / (1 - beta1^t) and 1 / sqrt(1 - beta2^t)
  double first;          // SGD: 1 if the velocity becomes the gradient, else 0
  bool operator==(const ParameterRates&) const = default;
};

/// The elements [0, total) of all slots, in order. Both tables are memory of the kernels' device.
struct ParameterSlots {
  const ParameterSlot* slots;
  const ParameterRates* rates;
  int64_t count, total;
  uint32_t dtypes;  // bit 1 << dtype of those that occur
  /// The CPU's piece of work, and of one partial result, in elements. 3 to 7 streams of float32 pass through the cache.
  static constexpr int64_t piece = 32768;
  /// On other devices every slot begins at a multiple of this, behind a gap that is nobody's: then vector loads fit
  /// wherever the tensors are aligned.
  static constexpr int64_t alignment = 16;
};

/// A pass over gradients before a step, and what it found: memory of the kernels' device, so that the next pass reads
/// it there and the host does not wait.
struct GradientLimit {
  double norm;       // clip_grad_norm: the joint 2-norm. NaN or infinite: refused
  double factor[2];  // gradients are to be multiplied by the one, then by the other (a product too small for a dtype)
  double scale;      // a device's own: 0, or the power of two by which it must multiply before it squares
  bool refused;      // some gradient is not what the pass takes: nothing may be written
};

/// Where a device notes the first refusal that nobody has asked for yet.
struct GradientRefusal {
  unsigned long long call;           // the number of the call, 0: none
  unsigned long long nan, infinite;  // the first element that is so, counted over all slots; ~0: none
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
struct adam_step : Kernel<adam_step> {
  template <class Target>
  static void run(ParameterSlots slots, AdamConfig config);
};

/// v = momentum v + (1 - dampening) g; w -= lr v (Nesterov: lr (g + momentum v)).
struct sgd_step : Kernel<sgd_step> {
  template <class Target>
  static void run(ParameterSlots slots, SgdConfig config);
};

/// limit = the joint norm, and the factors that bring it down to max_norm (1 if it is no larger). Does not overflow.
/// Refuses NaN and infinity; the CPU then has NaN or infinity as its norm and takes no `refusal` (null).
struct gradient_norm : Kernel<gradient_norm> {
  template <class Target>
  static void run(ParameterSlots slots, double max_norm, GradientLimit* limit, GradientRefusal* refusal,
                  unsigned long long call);
};

/// limit->refused: whether a gradient is NaN.
struct gradient_has_nan : Kernel<gradient_has_nan> {
  template <class Target>
  static void run(ParameterSlots slots, GradientLimit* limit, GradientRefusal* refusal, unsigned long long call);
};

/// gradient *= limit->factor[0], then *= limit->factor[1]. Refused: looks for the element to be named in `refusal`, if
/// this call has claimed it.
struct gradient_scale : Kernel<gradient_scale> {
  template <class Target>
  static void run(ParameterSlots slots, const GradientLimit* limit, GradientRefusal* refusal, unsigned long long call);
};

/// Limits every gradient element to [-most, most]; the same if refused.
struct gradient_clamp : Kernel<gradient_clamp> {
  template <class Target>
  static void run(ParameterSlots slots, double most, const GradientLimit* limit, GradientRefusal* refusal,
                  unsigned long long call);
};

}  // namespace kernel
}  // namespace tutti
