#include "tutti/nn/optim/sgd.h"

#include <cmath>

#include "tutti/autograd/with_grad.h"
#include "tutti/core/error.h"
#include "tutti/nn/optim/detail/slots.h"
#include "tutti/nn/optim/detail/state.h"

namespace tutti::optim {

SGD::SGD(std::vector<Tensor> parameters, SGDOptions options)
    : SGD(std::vector<ParameterGroup>{{.parameters = std::move(parameters)}}, options) {}

SGD::SGD(std::vector<ParameterGroup> groups, SGDOptions options)
    : Optimizer("SGD", std::move(groups), options.lr, options.weight_decay), options_(options) {
  check_option("momentum", options.momentum, 0, HUGE_VAL);
  if (options.nesterov && (options.momentum == 0 || options.dampening != 0))
    throw ValueError(message("SGD: nesterov needs momentum > 0 and dampening 0, but momentum = ", options.momentum,
                             " and dampening = ", options.dampening));
}

void SGD::step() {
  check_groups();
  const no_grad off;
  check_effect();
  SlotList slots(name_);
  std::vector<std::pair<const ParameterGroup*, Tensor*>> owners;
  velocity_.resize(groups_.size());
  for (size_t i = 0; i < groups_.size(); ++i) {
    const auto& parameters = groups_[i].parameters;
    velocity_[i].resize(parameters.size());
    for (size_t k = 0; k < parameters.size(); ++k)
      if (slots.add(parameters[k])) owners.emplace_back(&groups_[i], &velocity_[i][k]);
  }
  for (size_t i = 0; i < slots.size(); ++i) {
    auto& [group, velocity] = owners[i];
    const bool first = options_.momentum != 0 && !velocity->defined();
    if (options_.momentum != 0) keep_state(*velocity, slots.parameter(i));
    slots.set_rates(
        i, {.lr = group->lr, .weight_decay = group->weight_decay, .correction = {0, 0}, .first = first ? 1.0 : 0.0});
  }
  for (size_t i = 0; i < slots.size(); ++i) {
    slots[i].weight = in_place(name_, slots.parameter(i)).data();
    if (options_.momentum != 0) slots[i].state[0] = in_place(name_, *owners[i].second).data();
  }
  if (slots.size() == 0) return;
  const SgdConfig config{options_.momentum, options_.dampening, options_.nesterov};
  kernel::sgd_step::on(slots.device())(tables_->view(slots), config);
}

}  // namespace tutti::optim
