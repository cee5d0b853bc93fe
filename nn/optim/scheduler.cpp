#include "tutti/nn/optim/scheduler.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "tutti/core/error.h"
#include "tutti/nn/detail/named_state.h"

namespace tutti::optim {
namespace {

void check_steps(const char* schedule, const char* option, int64_t value, int64_t least = 1) {
  if (value < least) throw ValueError(message(schedule, ": ", option, " is ", value, "; it must be at least ", least));
}

/// From 1 at share 0 to floor at share 1.
double half_cosine(double share, double floor) {
  return floor + (1 - floor) * (1 + std::cos(std::numbers::pi * share)) / 2;
}

/// Says whether it is still the group that was seen.
const void* first_of(const ParameterGroup& group) {
  return group.parameters.empty() ? nullptr : group.parameters[0].impl();
}

}  // namespace

Schedule constant(double factor) {
  return [factor](int64_t) { return factor; };
}

Schedule step_decay(int64_t every, double gamma) {
  check_steps("step_decay", "every", every);
  return [every, gamma](int64_t step) { return std::pow(gamma, static_cast<double>(step / every)); };
}

Schedule cosine(int64_t steps, double floor) {
  check_steps("cosine", "steps", steps);
  return [steps, floor](int64_t step) {
    return step >= steps ? floor : half_cosine(static_cast<double>(step) / static_cast<double>(steps), floor);
  };
}

Schedule cosine_restarts(int64_t period, int64_t growth, double floor) {
  check_steps("cosine_restarts", "period", period);
  check_steps("cosine_restarts", "growth", growth);
  return [period, growth, floor](int64_t step) {
    int64_t length = period;
    if (growth == 1) step %= period;
    while (step >= length) {
      step -= length;
      length =
          length > std::numeric_limits<int64_t>::max() / growth ? std::numeric_limits<int64_t>::max() : length * growth;
    }
    return half_cosine(static_cast<double>(step) / static_cast<double>(length), floor);
  };
}

Schedule linear_warmup(int64_t steps) {
  check_steps("linear_warmup", "steps", steps);
  return [steps](int64_t step) {
    return step + 1 >= steps ? 1.0 : static_cast<double>(step + 1) / static_cast<double>(steps);
  };
}

Schedule chained(Schedule first, int64_t steps, Schedule second) {
  check_steps("chained", "steps", steps, 0);
  if (!first || !second) throw ValueError("chained: a schedule is empty");
  return [first = std::move(first), steps, second = std::move(second)](int64_t step) {
    return step < steps ? first(step) : second(step - steps);
  };
}

Scheduler::Scheduler(Optimizer& optimizer, Schedule schedule) : optimizer_(optimizer), schedule_(std::move(schedule)) {
  if (!schedule_) throw ValueError("Scheduler: the schedule is empty");
  follow();
  apply();
}

void Scheduler::step() {
  follow();
  ++step_;
  apply();
}

std::map<std::string, Tensor> Scheduler::state_dict() const {
  return {{"step", nn::detail::number(step_)},
          {"factor", nn::detail::number(factor_)},
          {"base_lrs", nn::detail::numbers(base_)},
          {"last_lrs", nn::detail::numbers(last_)}};
}

void Scheduler::load_state_dict(const std::map<std::string, Tensor>& state) {
  nn::detail::StateReader reader("Scheduler: load_state_dict", state);
  const int64_t step = reader.integer("step");
  const double factor = reader.real("factor");
  std::vector<double> base = reader.reals("base_lrs"), last = reader.reals("last_lrs");
  reader.end();
  const auto& groups = optimizer_.groups();
  if (base.size() != groups.size() || last.size() != groups.size())
    reader.fail(message("the optimizer has ", groups.size(), " groups, the state has rates of ", base.size(), " and ",
                        last.size()));
  step_ = step;
  factor_ = factor;
  base_ = std::move(base);
  last_ = std::move(last);
  members_.clear();
  for (const ParameterGroup& group : groups) members_.push_back(first_of(group));
}

/// Notices what happened to the groups since the last time; on an error nothing has changed.
void Scheduler::follow() {
  const auto& groups = optimizer_.groups();
  auto base = base_;
  base.resize(groups.size());
  std::vector<const void*> members(groups.size());
  for (size_t i = 0; i < groups.size(); ++i) {
    members[i] = first_of(groups[i]);
    const double lr = groups[i].lr;
    if (i >= members_.size() || members[i] != members_[i])
      base[i] = lr;
    else if (lr != last_[i] && factor_ < 1e-3 && !(lr / factor_ <= 10 * base_[i]))
      throw ValueError(message("Scheduler: the rate of group ", i, " was set to ", lr,
                               " while the schedule's factor is ", factor_,
                               ", too small to divide by; set base_lrs() instead"));
    else if (lr != last_[i])
      base[i] = lr / factor_;
  }
  base_ = std::move(base);
  members_ = std::move(members);
}

void Scheduler::apply() {
  factor_ = schedule_(step_);
  auto& groups = optimizer_.groups();
  last_.resize(groups.size());
  for (size_t i = 0; i < groups.size(); ++i) last_[i] = groups[i].lr = base_[i] * factor_;
}

}  // namespace tutti::optim
