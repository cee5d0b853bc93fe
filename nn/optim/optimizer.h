// What optimizers share: parameter groups, and one step over all of them.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tutti/core/tensor.h"

#pragma GCC visibility push(default)
namespace tutti::optim {

class SlotList;  // detail/slots.h
class SlotTables;

/// Parameters that share settings. Schedulers change `lr`.
struct ParameterGroup {
  std::vector<Tensor> parameters{};
  double lr = -1;            ///< negative: the optimizer's
  double weight_decay = -1;  ///< negative: the optimizer's
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;
  /// Updates every parameter that has a gradient, in place; the others keep their value and their state. Either all are
  /// updated or, on an error (parameters on several devices), none.
  /// Warns, once of each, if none of the parameters has a gradient, and if one belongs to nobody but the optimizer (its
  /// module was replaced or is gone).
  virtual void step() = 0;
  void zero_grad();
  /// With lr and weight_decay filled in; both may be changed between steps, and parameters and whole groups appended
  /// (with rates of their own) or removed from the end.
  std::vector<ParameterGroup>& groups() { return groups_; }

  /// What the next step depends on beside weights and options, under PyTorch's names: "0.lr" and "0.weight_decay" of
  /// group 0; of its parameter 3, once it had a step, "0.3.exp_avg", "0.3.exp_avg_sq" and "0.3.step" (Adam, AdamW) or
  /// "0.3.momentum_buffer" (SGD with momentum). Averages share storage with the optimizer (save or clone them).
  std::map<std::string, Tensor> state_dict();
  /// Goes on from there, converted to the parameters' devices and dtypes, in place where there is something already.
  /// ValueError that names what is missing, unexpected or of another shape; then nothing has changed.
  void load_state_dict(const std::map<std::string, Tensor>& state);

 protected:
  /// What is remembered from step to step: by name, and where.
  struct Memory {
    std::vector<std::pair<const char*, Tensor*>>
        averages{};  ///< of the parameter's shape; undefined before its first step
    std::vector<std::pair<const char*, int64_t*>> counts{};
  };
  /// For state_dict: of the optimizer as a whole (counts only).
  virtual Memory memory() { return {}; }
  /// For state_dict: of parameter `number` of `group`, with room made for it.
  virtual Memory memory_of(size_t /*group*/, size_t /*number*/) { return {}; }

  /// ValueError on an empty list, a tensor that is an operation's result, is not floating or has strides, or one that
  /// appears twice; on a negative rate or decay.
  Optimizer(const char* name, std::vector<ParameterGroup> groups, double lr, double weight_decay);
  /// ValueError naming optimizer and option unless low <= value < high.
  void check_option(const char* option, double value, double low, double high) const;
  /// For step(), before anything is written: the groups may have been changed. ValueError on a rate or decay that is
  /// negative or not finite, on a new parameter that cannot be trained, and where another tensor has taken a place (the
  /// state there is not its own).
  void check_groups();
  /// For step(), after check_groups and before it holds parameters itself: the warnings.
  void check_effect();
  const char* name_;
  std::vector<ParameterGroup> groups_;
  std::shared_ptr<SlotTables> tables_;

 private:
  std::vector<std::vector<Tensor>> known_;  // the groups' parameters that were checked
  bool warned_idle_ = false, warned_orphan_ = false;
};

}  // namespace tutti::optim
#pragma GCC visibility pop
