// Parameter and Buffer: the tensors that a module owns.
#pragma once
#include <utility>

#include "tutti/core/tensor.h"

#pragma GCC visibility push(default)
namespace tutti::nn {

/// A tensor that a module owns and trains. Copying a Parameter copies its values (so a copied module is independent);
/// moving it moves the handle. Assigning a copy (`model = best`) keeps the tensor that is there if the shapes agree, so
/// that an optimizer keeps hold of it: it gets the other's values, dtype, device, and whether it wants a gradient.
/// Where shapes differ, or only one is there, the copy is a new tensor, for a new optimizer; so it is for all modules
/// of a std::vector that must grow for the assignment, since it makes all its elements anew. An empty Parameter (an
/// absent bias) is skipped by everything that walks modules.
class Parameter {
 public:
  Parameter() = default;
  /// AutogradError unless t is floating and no operation's result.
  explicit Parameter(Tensor t) : tensor_(std::move(t)) { tensor_.requires_grad_(); }
  Parameter(const Parameter& other);
  Parameter& operator=(const Parameter& other);
  Parameter(Parameter&&) noexcept = default;
  Parameter& operator=(Parameter&&) noexcept = default;

  operator const Tensor&() const { return tensor_; }
  const Tensor& tensor() const { return tensor_; }
  bool defined() const { return tensor_.defined(); }
  const Dims& shape() const { return tensor_.shape(); }
  /// Shares the other's tensor from now on (tied weights); both names appear in state_dict, parameters() lists it once.
  /// In a copy of a module that has both (children() names them), the copies are tied too.
  void tie(const Parameter& other);

 private:
  Tensor tensor_;
};

/// A tensor that a module owns and saves but does not train (running statistics, fixed positions). Copies by value, as
/// a Parameter does.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(Tensor t);  ///< AutogradError if t requires a gradient
  Buffer(const Buffer& other);
  Buffer& operator=(const Buffer& other);
  Buffer(Buffer&&) noexcept = default;
  Buffer& operator=(Buffer&&) noexcept = default;

  operator const Tensor&() const { return tensor_; }
  const Tensor& tensor() const { return tensor_; }
  bool defined() const { return tensor_.defined(); }
  const Dims& shape() const { return tensor_.shape(); }

 private:
  Tensor tensor_;
};

}  // namespace tutti::nn
#pragma GCC visibility pop
