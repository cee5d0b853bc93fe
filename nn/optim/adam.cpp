#include "tutti/nn/optim/adam.h"

#include <cmath>

#include "tutti/autograd/with_grad.h"
#include "tutti/nn/optim/detail/slots.h"
#include "tutti/nn/optim/detail/state.h"

namespace tutti::optim {

Adam::Adam(const char* name, std::vector<ParameterGroup> groups, AdamOptions options, bool decoupled)
    : Optimizer(name, std::move(groups), options.lr, options.weight_decay), options_(options), decoupled_(decoupled) {
  check_option("beta1", options.beta1, 0, 1);
  check_option("beta2", options.beta2, 0, 1);
  check_option("eps", options.eps, 0, HUGE_VAL);
}
Adam::Adam(std::vector<Tensor> parameters, AdamOptions options)
    : Adam(std::vector<ParameterGroup>{{.parameters = std::move(parameters)}}, options) {}
Adam::Adam(std::vector<ParameterGroup> groups, AdamOptions options)
    : Adam("Adam", std::move(groups), options, /*decoupled=*/false) {}

AdamW::AdamW(std::vector<Tensor> parameters, AdamWOptions options)
    : AdamW(std::vector<ParameterGroup>{{.parameters = std::move(parameters)}}, options) {}
AdamW::AdamW(std::vector<ParameterGroup> groups, AdamWOptions o)
    : Adam("AdamW", std::move(groups), {o.lr, o.beta1, o.beta2, o.eps, o.weight_decay}, /*decoupled=*/true) {}

void Adam::step() {
  check_groups();
  const no_grad off;
  check_effect();
  SlotList slots(name_);
  std::vector<std::pair<const ParameterGroup*, State*>> owners;
  state_.resize(groups_.size());
  for (size_t i = 0; i < groups_.size(); ++i) {
    const auto& parameters = groups_[i].parameters;
    state_[i].resize(parameters.size());
    for (size_t k = 0; k < parameters.size(); ++k)
      if (slots.add(parameters[k])) owners.emplace_back(&groups_[i], &state_[i][k]);
  }
  for (size_t i = 0; i < slots.size(); ++i) {
    keep_state(owners[i].second->mean, slots.parameter(i));
    keep_state(owners[i].second->square, slots.parameter(i));
  }

  int64_t age = 0;  // of most parameters; pow is slow, and they all have the same
  double correction1 = 1, correction2 = 1;
  for (size_t i = 0; i < slots.size(); ++i) {
    auto& [group, state] = owners[i];
    if (++state->steps != age) {
      age = state->steps;
      correction1 = 1 / (1 - std::pow(options_.beta1, age));
      correction2 = 1 / std::sqrt(1 - std::pow(options_.beta2, age));
    }
    ParameterSlot& slot = slots[i];
    slot.weight = in_place(name_, slots.parameter(i)).data();
    slot.state[0] = in_place(name_, state->mean).data();
    slot.state[1] = in_place(name_, state->square).data();
    slots.set_rates(i, {.lr = group->lr,
                        .weight_decay = group->weight_decay,
                        .correction = {group->lr * correction1, correction2},
                        .first = 0});
  }
  ++steps_;
  if (slots.size() == 0) return;
  const AdamConfig config{options_.beta1, options_.beta2, options_.eps, decoupled_};
  kernel::adam_step::on(slots.device())(tables_->view(slots), config);
}

}  // namespace tutti::optim
