// From parameters with gradients to what the fused kernels take: one list, one dispatch.
#pragma once
#include <vector>

#include "tutti/backends/contract/optimizer.h"
#include "tutti/core/tensor.h"

#pragma GCC visibility push(default)
namespace tutti::optim {

class SlotList {
 public:
  explicit SlotList(const char* op) : op_(op) {}
  /// Adds p; false if it has no gradient. Nothing is written yet. DeviceError if p is on another device than those
  /// before it.
  bool add(const Tensor& p);
  size_t size() const { return slots_.size(); }
  ParameterSlot& operator[](size_t i) { return slots_[i]; }
  const Tensor& parameter(size_t i) const { return parameters_[i]; }
  const Tensor& gradient(size_t i) const { return gradients_[i]; }
  ParameterSlots view() const { return {slots_.data(), static_cast<int64_t>(slots_.size()), total_}; }
  Device device() const { return device_; }
  int64_t pieces() const { return (total_ + ParameterSlots::piece - 1) / ParameterSlots::piece; }

 private:
  const char* op_;
  std::vector<ParameterSlot> slots_;
  std::vector<Tensor> parameters_, gradients_;  // contiguous, kept alive for the kernel
  int64_t total_ = 0;
  Device device_;
};

}  // namespace tutti::optim
#pragma GCC visibility pop
