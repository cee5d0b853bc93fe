// Learning-rate schedules: a factor for every step, applied to the groups' initial rates.
#pragma once
#include <functional>
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

/// Sets every group's rate to its initial rate times the schedule's factor: at once for the first step, then at each
/// step().
class Scheduler {
 public:
  Scheduler(Optimizer& optimizer, Schedule schedule);
  void step();  ///< after optimizer.step()
  double factor() const { return factor_; }

 private:
  void apply();
  Optimizer& optimizer_;
  Schedule schedule_;
  std::vector<double> initial_;
  int64_t step_ = 0;
  double factor_ = 1;
};

}  // namespace tutti::optim
#pragma GCC visibility pop
