// Adam (Kingma & Ba 2015) and AdamW (Loshchilov & Hutter 2019).
#pragma once
#include <utility>

#include "tutti/nn/optim/optimizer.h"

#pragma GCC visibility push(default)
namespace tutti::optim {

struct AdamOptions {
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0;
};
struct AdamWOptions {
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0.01;
};

/// As torch.optim.Adam: m and v are running means of the gradient and its square, corrected for their start at 0;
/// w -= lr m / (sqrt(v) + eps). Weight decay is added to the gradient. State of half-precision weights is float32.
class Adam : public Optimizer {
 public:
  explicit Adam(std::vector<Tensor> parameters, AdamOptions options = {});
  explicit Adam(std::vector<ParameterGroup> groups, AdamOptions options = {});
  void step() override;
  int64_t steps() const { return steps_; }  ///< calls of step() so far

 protected:
  Adam(const char* name, std::vector<ParameterGroup> groups, AdamOptions options, bool decoupled);
  Memory memory() override;
  Memory memory_of(size_t group, size_t number) override;

 private:
  using Places = std::vector<std::pair<size_t, size_t>>;  // group and number in it
  struct State {
    Tensor mean, square;
    int64_t steps = 0;  // of this parameter: those in which it had a gradient
  };
  /// One more step of these, and what it needs.
  void advance(SlotList& slots, const Places& places);
  void set_rates(SlotList& slots, const Places& places) const;
  AdamOptions options_;
  bool decoupled_;
  int64_t steps_ = 0;
  std::vector<std::vector<State>> state_;  // per group and parameter
};

/// As torch.optim.AdamW: decay is decoupled, w -= lr weight_decay w, from the weights before the step.
class AdamW : public Adam {
 public:
  explicit AdamW(std::vector<Tensor> parameters, AdamWOptions options = {});
  explicit AdamW(std::vector<ParameterGroup> groups, AdamWOptions options = {});
};

}  // namespace tutti::optim
#pragma GCC visibility pop
