// What optimizers share: parameter groups, and one step over all of them.
#pragma once
#include <vector>

#include "tutti/core/tensor.h"

#pragma GCC visibility push(default)
namespace tutti::optim {

/// Parameters that share settings. Schedulers change `lr`.
struct ParameterGroup {
  std::vector<Tensor> parameters;
  double lr = 0;             ///< 0: the optimizer's
  double weight_decay = -1;  ///< negative: the optimizer's
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;
  /// Updates every parameter that has a gradient, in place.
  virtual void step() = 0;
  void zero_grad();
  std::vector<ParameterGroup>& groups() { return groups_; }

 protected:
  /// ValueError on an empty list, a tensor that is no leaf with requires_grad, or one that appears twice.
  Optimizer(const char* name, std::vector<ParameterGroup> groups, double lr, double weight_decay);
  std::vector<ParameterGroup> groups_;
};

}  // namespace tutti::optim
#pragma GCC visibility pop
