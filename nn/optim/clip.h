// Limits on gradients before a step.
#pragma once
#include <concepts>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tutti/core/tensor.h"

#pragma GCC visibility push(default)
namespace tutti::optim {

/// The joint norm of gradients: a double. On the CPU it is there at once. A GPU finds it when it comes to it: nobody
/// waits for that until the number is read.
class GradNorm {
 public:
  GradNorm(double value) : value_(value) {}
  explicit GradNorm(std::shared_ptr<Storage> found) : found_(std::move(found)) {}
  /// Waits for a GPU. ValueError if a gradient was not finite.
  operator double() const;

 private:
  double value_ = 0;
  std::shared_ptr<Storage> found_;  // on a GPU: the norm is its first double
};

/// Scales all gradients so that their joint 2-norm is at most max_norm; returns the norm before. Does not overflow.
/// Parameters without a gradient are skipped, tied ones count once. ValueError if a gradient is not finite, naming the
/// parameter by its place in the list, or if max_norm is negative or NaN: then no gradient has changed. On a GPU that
/// is not finite is found later: the error comes where the host next waits for the device (item(), the norm itself;
/// at once if cuda_check_at_once says so), and a step() before that has seen the gradients as they were.
GradNorm clip_grad_norm(const std::vector<Tensor>& parameters, double max_norm);
/// Limits every gradient element to [-limit, limit]. ValueError on a NaN, naming the parameter, or if limit is negative
/// or NaN: then no gradient has changed. The error for a NaN on a GPU comes later, as above.
void clip_grad_value(const std::vector<Tensor>& parameters, double limit);

using NamedParameter = std::pair<std::string, Tensor>;

/// The same, from named_parameters(): an error says the parameter's name too. (Templates, so that a list in braces is
/// one of tensors.)
template <std::same_as<NamedParameter> Named>
GradNorm clip_grad_norm(const std::vector<Named>& parameters, double max_norm);
template <std::same_as<NamedParameter> Named>
void clip_grad_value(const std::vector<Named>& parameters, double limit);

}  // namespace tutti::optim
#pragma GCC visibility pop
