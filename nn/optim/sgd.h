// Stochastic gradient descent with momentum.
#pragma once
#include <utility>

#include "tutti/nn/optim/optimizer.h"

#pragma GCC visibility push(default)
namespace tutti::optim {

struct SGDOptions {
  double lr = 1e-2, momentum = 0, dampening = 0, weight_decay = 0;
  bool nesterov = false;  ///< needs momentum, and no dampening
};

/// As torch.optim.SGD: g += weight_decay w; v = momentum v + (1 - dampening) g (the first step: v = g); w -= lr v, or
/// lr (g + momentum v) with Nesterov.
class SGD : public Optimizer {
 public:
  explicit SGD(std::vector<Tensor> parameters, SGDOptions options = {});
  explicit SGD(std::vector<ParameterGroup> groups, SGDOptions options = {});
  void step() override;

 protected:
  Memory memory_of(size_t group, size_t number) override;

 private:
  using Places = std::vector<std::pair<size_t, size_t>>;  // group and number in it
  void set_rates(SlotList& slots, const Places& places) const;
  SGDOptions options_;
  std::vector<std::vector<Tensor>> velocity_;  // per group and parameter; undefined before its first step
};

}  // namespace tutti::optim
#pragma GCC visibility pop
