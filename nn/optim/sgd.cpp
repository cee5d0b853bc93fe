#include "tutti/nn/optim/sgd.h"

#include <cmath>

#include "tutti/autograd/with_grad.h"
#include "tutti/core/cuda_graph.h"
#include "tutti/core/error.h"
#include "tutti/core/profiler_range.h"
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
  const ProfilerRange range("SGD.step");
  check_groups();
  const no_grad off;
  check_effect();
  const auto list = std::make_shared<SlotList>(name_);
  SlotList& slots = *list;
  Places places;
  velocity_.resize(groups_.size());
  for (size_t i = 0; i < groups_.size(); ++i) {
    const auto& parameters = groups_[i].parameters;
    velocity_[i].resize(parameters.size());
    for (size_t k = 0; k < parameters.size(); ++k)
      if (slots.add(parameters[k])) places.emplace_back(i, k);
  }
  set_rates(slots, places);
  const auto velocity = [&](size_t i) -> Tensor& { return velocity_[places[i].first][places[i].second]; };
  if (options_.momentum != 0)
    for (size_t i = 0; i < slots.size(); ++i) keep_state(velocity(i), slots.parameter(i));
  for (size_t i = 0; i < slots.size(); ++i) {
    slots[i].weight = in_place(name_, slots.parameter(i)).data();
    if (options_.momentum != 0) slots[i].state[0] = in_place(name_, velocity(i)).data();
  }
  if (slots.size() == 0) return;
  Recording* const recording = Recording::current();
  const auto tables = recording ? SlotTables::recorded() : tables_;
  const SgdConfig config{options_.momentum, options_.dampening, options_.nesterov};
  kernel::sgd_step::on(slots.device())(tables->view(slots), config);
  if (recording)
    recording->before_replay([this, list, places, tables] {
      set_rates(*list, places);
      tables->send_rates(*list);
    });
}

Optimizer::Memory SGD::memory_of(size_t group, size_t number) {
  if (options_.momentum == 0) return {};
  velocity_.resize(groups_.size());
  velocity_[group].resize(groups_[group].parameters.size());
  return {.averages = {{"momentum_buffer", &velocity_[group][number]}}};
}

void SGD::set_rates(SlotList& slots, const Places& places) const {
  for (size_t i = 0; i < slots.size(); ++i) {
    const auto& [group, number] = places[i];
    const bool first = options_.momentum != 0 && !velocity_[group][number].defined();
    slots.set_rates(i, {.lr = groups_[group].lr,
                        .weight_decay = groups_[group].weight_decay,
                        .correction = {0, 0},
                        .first = first ? 1.0 : 0.0});
  }
}

}  // namespace tutti::optim
