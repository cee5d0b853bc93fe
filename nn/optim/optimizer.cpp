#include "tutti/nn/optim/optimizer.h"

#include <cmath>
#include <set>

#include "tutti/autograd/node.h"
#include "tutti/core/error.h"
#include "tutti/core/warning.h"
#include "tutti/nn/optim/detail/slots.h"

namespace tutti::optim {

Optimizer::Optimizer(const char* name, std::vector<ParameterGroup> groups, double lr, double weight_decay)
    : name_(name), groups_(std::move(groups)), tables_(std::make_shared<SlotTables>()) {
  check_option("lr", lr, 0, HUGE_VAL);
  check_option("weight_decay", weight_decay, 0, HUGE_VAL);
  bool any = false;
  for (ParameterGroup& group : groups_) {
    if (group.lr < 0) group.lr = lr;
    if (group.weight_decay < 0) group.weight_decay = weight_decay;
    any = any || !group.parameters.empty();
  }
  check_groups();
  if (!any) throw ValueError(message(name_, ": there are no parameters to train"));
}

void Optimizer::check_groups() {
  known_.resize(groups_.size());
  bool grown = false;
  for (size_t i = 0; i < groups_.size(); ++i) {
    const ParameterGroup& group = groups_[i];
    const auto check_rate = [&](const char* option, double value) {
      if (!(value >= 0 && value < HUGE_VAL))
        throw ValueError(message(name_, ": ", option, " of group ", i, " is ", value, "; it must be in [0, inf)"));
    };
    check_rate("lr", group.lr);
    check_rate("weight_decay", group.weight_decay);
    auto& known = known_[i];
    if (known.size() > group.parameters.size()) known.resize(group.parameters.size());
    for (size_t k = 0; k < known.size(); ++k)
      if (known[k].impl() != group.parameters[k].impl())
        throw ValueError(message(name_, ": parameter ", k, " of group ", i,
                                 " is another tensor than before; append it, or make a new optimizer"));
    grown = grown || known.size() < group.parameters.size();
  }
  if (!grown) return;
  std::set<const TensorImpl*> seen;
  size_t position = 0;
  for (const ParameterGroup& group : groups_)
    for (const Tensor& p : group.parameters) {
      const auto refuse = [&](const auto&... why) {
        throw ValueError(message(name_, ": parameter ", position, " ", why...));
      };
      if (!p.defined()) refuse("is undefined");
      if (!is_floating(p.dtype())) refuse("is ", p.dtype(), "; only floating tensors can be trained");
      if (p.requires_grad() && !p.impl()->node->is_leaf()) refuse("is the result of an operation, not a leaf");
      if (!p.is_contiguous()) refuse("of shape ", p.shape(), " is a strided view; train a contiguous copy");
      if (!seen.insert(p.impl()).second) refuse("of shape ", p.shape(), " was listed before");
      ++position;
    }
  for (size_t i = 0; i < groups_.size(); ++i) known_[i] = groups_[i].parameters;
}

void Optimizer::check_effect() {
  if (warned_orphan_) return;
  size_t count = 0;
  bool any = warned_idle_;
  for (size_t i = 0; i < groups_.size(); ++i) {
    const auto& parameters = groups_[i].parameters;
    count += parameters.size();
    for (size_t k = 0; k < parameters.size(); ++k) {
      if (!any) any = parameters[k].grad().defined();
      const auto& handle = Access::handle(parameters[k]);
      if (handle.use_count() > 2 || handle->storage.use_count() > 1) continue;  // ours: in groups_ and in known_
      warned_orphan_ = true;
      warn(message(name_, ": parameter ", k, " of group ", i, " (shape ", parameters[k].shape(),
                   ") belongs to nobody but the optimizer: perhaps its module is gone, or was replaced by another "
                   "(model = Model()). Then what is trained there is not used; make an optimizer of the module that "
                   "is"));
      return;
    }
  }
  if (any || count == 0) return;
  warned_idle_ = true;
  warn(message(name_, ": none of the ", count,
               " parameters has a gradient, so step() changes nothing: backward() was not called, or on the loss of "
               "another module (a copy has parameters of its own)"));
}

void Optimizer::check_option(const char* option, double value, double low, double high) const {
  if (value >= low && value < high) return;
  throw ValueError(message(name_, ": ", option, " is ", value, "; it must be in [", low, ", ", high, ")"));
}

void Optimizer::zero_grad() {
  for (const ParameterGroup& group : groups_)
    for (const Tensor& p : group.parameters) p.zero_grad();
}

}  // namespace tutti::optim
