// Learning-rate schedules: a factor for every step, applied to the groups' initial rates.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tutti/nn/optim/optimizer.h"

#pragma GCC visibility push(default)
namespace tutti::optim {

/// The factor at step 0, 1, ...
using Schedule = std::function<double(int64_t step)>;

/// Always `factor`.
Schedule constant(double factor = 1);
/// gamma^(step / every), rounded down. ValueError unless every is positive (the same for the steps below).
Schedule step_decay(int64_t every, double gamma = 0.1);
/// From 1 to `floor` over `steps`, then `floor`: floor + (1 - floor)(1 + cos(pi t / steps)) / 2.
Schedule cosine(int64_t steps, double floor = 0);
/// Cosine with warm restarts (Loshchilov & Hutter 2017): periods of `period`, each `growth` times as long as the last.
Schedule cosine_restarts(int64_t period, int64_t growth = 1, double floor = 0);
/// Linear from 1/steps at step 0 to 1 at step steps - 1, then 1.
Schedule linear_warmup(int64_t steps);
/// `first` for `steps` steps, then `second`, which starts at its own step 0.
Schedule chained(Schedule first, int64_t steps, Schedule second);

/// Sets every group's rate to its base rate times the schedule's factor: at once for the first step, then at each
/// step(). The base rate is the one that the group has when the scheduler first sees it: at construction or, for groups
/// that were appended or replaced since, at the next step(). A rate that somebody else has set since (the user, another
/// scheduler) is the rate at the factor of that time, and is scheduled on from there: the base rate becomes rate /
/// factor.
class Scheduler {
 public:
  Scheduler(Optimizer& optimizer, Schedule schedule);
  /// After optimizer.step(). ValueError if a rate was set while the factor was below 1e-3 (0, say) and rate / factor is
  /// more than ten times the base rate: that was hardly meant (change base_lrs() instead). Then nothing has changed.
  void step();
  double factor() const { return factor_; }
  /// One for each group that was seen; what is written here counts from the next step().
  std::vector<double>& base_lrs() { return base_; }
  /// Its step, factor, base rates and the rates that it gave last (not the schedule, nor the optimizer's own state).
  std::map<std::string, Tensor> state_dict() const;
  /// Goes on from there; the optimizer's rates stay as they are (its own state has them). ValueError, and nothing has
  /// changed, if something is missing or unexpected, or the optimizer has another number of groups.
  void load_state_dict(const std::map<std::string, Tensor>& state);

 private:
  void follow();
  void apply();
  Optimizer& optimizer_;
  Schedule schedule_;
  std::vector<double> base_, last_;   // per group; the rate that apply() gave it
  std::vector<const void*> members_;  // its first parameter: says whether it is still the group that was seen
  int64_t step_ = 0;
  double factor_ = 1;
};

}  // namespace tutti::optim
#pragma GCC visibility pop
