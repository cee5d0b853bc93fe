#include "tutti/nn/optim/adam.h"

#include <cmath>

#include "tutti/autograd/with_grad.h"
#include "tutti/core/cuda_graph.h"
#include "tutti/core/profiler_range.h"
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
  const ProfilerRange range([this] { return std::string(name_) + ".step"; });
  check_groups();
  const no_grad off;
  check_effect();
  const auto list = std::make_shared<SlotList>(name_);
  SlotList& slots = *list;
  Places places;
  state_.resize(groups_.size());
  for (size_t i = 0; i < groups_.size(); ++i) {
    const auto& parameters = groups_[i].parameters;
    state_[i].resize(parameters.size());
    for (size_t k = 0; k < parameters.size(); ++k)
      if (slots.add(parameters[k])) places.emplace_back(i, k);
  }
  const auto state = [&](size_t i) -> State& { return state_[places[i].first][places[i].second]; };
  for (size_t i = 0; i < slots.size(); ++i) {
    keep_state(state(i).mean, slots.parameter(i));
    keep_state(state(i).square, slots.parameter(i));
  }
  for (size_t i = 0; i < slots.size(); ++i) {
    slots[i].weight = in_place(name_, slots.parameter(i)).data();
    slots[i].state[0] = in_place(name_, state(i).mean).data();
    slots[i].state[1] = in_place(name_, state(i).square).data();
  }
  Recording* const recording = Recording::current();
  if (recording)
    set_rates(slots, places);  // only their number matters: each replay is a step, this is none
  else
    advance(slots, places);
  if (slots.size() == 0) return;
  const auto tables = recording ? SlotTables::recorded() : tables_;
  const AdamConfig config{options_.beta1, options_.beta2, options_.eps, decoupled_};
  kernel::adam_step::on(slots.device())(tables->view(slots), config);
  if (recording)
    recording->before_replay([this, list, places, tables] {
      advance(*list, places);
      tables->send_rates(*list);
    });
}

Optimizer::Memory Adam::memory() { return {.counts = {{"steps", &steps_}}}; }

Optimizer::Memory Adam::memory_of(size_t group, size_t number) {
  state_.resize(groups_.size());
  state_[group].resize(groups_[group].parameters.size());
  State& s = state_[group][number];
  return {.averages = {{"exp_avg", &s.mean}, {"exp_avg_sq", &s.square}}, .counts = {{"step", &s.steps}}};
}

void Adam::advance(SlotList& slots, const Places& places) {
  ++steps_;
  for (const auto& [i, k] : places) ++state_[i][k].steps;
  set_rates(slots, places);
}

void Adam::set_rates(SlotList& slots, const Places& places) const {
  int64_t age = 0;  // of most parameters; pow is slow, and they all have the same
  double correction1 = 1, correction2 = 1;
  for (size_t i = 0; i < slots.size(); ++i) {
    const auto& [group, number] = places[i];
    if (const int64_t steps = state_[group][number].steps; steps != age) {
      age = steps;
      correction1 = 1 / (1 - std::pow(options_.beta1, age));
      correction2 = 1 / std::sqrt(1 - std::pow(options_.beta2, age));
    }
    slots.set_rates(i, {.lr = groups_[group].lr,
                        .weight_decay = groups_[group].weight_decay,
                        .correction = {groups_[group].lr * correction1, correction2},
                        .first = 0});
  }
}

}  // namespace tutti::optim
