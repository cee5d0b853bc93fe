// What optimizers share: parameter groups, and one step over all of them.
#pragma once
#include <cstdint>
#include <memory>
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

 protected:
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
