// What optimizers remember, as named tensors and back.
#include "tutti/autograd/with_grad.h"
#include "tutti/core/error.h"
#include "tutti/nn/detail/named_state.h"
#include "tutti/nn/optim/detail/state.h"
#include "tutti/nn/optim/optimizer.h"
#include "tutti/ops/copy.h"

namespace tutti::optim {

using nn::detail::number;
using nn::detail::StateReader;

std::map<std::string, Tensor> Optimizer::state_dict() {
  std::map<std::string, Tensor> state;
  for (const auto& [name, count] : memory().counts) state.emplace(name, number(*count));
  for (size_t i = 0; i < groups_.size(); ++i) {
    const std::string group = message(i, ".");
    state.emplace(group + "lr", number(groups_[i].lr));
    state.emplace(group + "weight_decay", number(groups_[i].weight_decay));
    state.emplace(group + "parameters", number(static_cast<int64_t>(groups_[i].parameters.size())));
    for (size_t k = 0; k < groups_[i].parameters.size(); ++k) {
      const std::string parameter = message(group, k, ".");
      const Memory m = memory_of(i, k);
      if (m.averages.empty() || !m.averages[0].second->defined()) continue;  // no step yet
      for (const auto& [name, average] : m.averages) state.emplace(parameter + name, average->detach());
      for (const auto& [name, count] : m.counts) state.emplace(parameter + name, number(*count));
    }
  }
  return state;
}

void Optimizer::load_state_dict(const std::map<std::string, Tensor>& state) {
  struct NewAverage {
    Tensor* to;
    Tensor parameter, value;  // no value: as before its first step
  };
  std::vector<NewAverage> averages;
  std::vector<std::pair<int64_t*, int64_t>> counts;
  std::vector<std::pair<double, double>> rates;
  const std::string op = message(name_, ": load_state_dict");
  StateReader reader(op.c_str(), state);
  for (const auto& [name, count] : memory().counts) counts.emplace_back(count, reader.integer(name));
  for (size_t i = 0; i < groups_.size(); ++i) {
    const std::string group = message(i, ".");
    const auto& parameters = groups_[i].parameters;
    rates.emplace_back(reader.real(group + "lr"), reader.real(group + "weight_decay"));
    if (const int64_t n = reader.integer(group + "parameters"); n != static_cast<int64_t>(parameters.size()))
      reader.fail(message("group ", i, " has ", parameters.size(), " parameters, but had ", n));
    for (size_t k = 0; k < parameters.size(); ++k) {
      const std::string parameter = message(group, k, ".");
      const Memory m = memory_of(i, k);
      const bool stepped = !m.averages.empty() && reader.contains(parameter + m.averages[0].first);
      for (const auto& [name, average] : m.averages) {
        const Tensor value = stepped ? reader.get(parameter + name) : Tensor();
        if (stepped && !(value.shape() == parameters[k].shape()))
          reader.fail(message("\"", parameter, name, "\" has shape ", value.shape(), ", but parameter ", k,
                              " of group ", i, " has ", parameters[k].shape()));
        averages.push_back({average, parameters[k], value});
      }
      for (const auto& [name, count] : m.counts)
        counts.emplace_back(count, stepped ? reader.integer(parameter + name) : 0);
    }
  }
  reader.end();

  const no_grad off;
  for (const NewAverage& a : averages) {
    if (!a.value.defined()) {
      *a.to = {};
      continue;
    }
    keep_state(*a.to, a.parameter);
    copy_(*a.to, to(to(a.value, a.to->device()), a.to->dtype()));
  }
  for (const auto& [to, value] : counts) *to = value;
  for (size_t i = 0; i < groups_.size(); ++i) {
    groups_[i].lr = rates[i].first;
    groups_[i].weight_decay = rates[i].second;
  }
}

}  // namespace tutti::optim
