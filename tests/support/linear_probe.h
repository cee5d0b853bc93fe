// A linear classifier of a task's tokens: a floor that any model of the task should reach.
#pragma once
#include "grouped_vs_standard/tasks/task.h"
#include "tutti/tutti.h"

namespace tutti_test {

/// Test accuracy of softmax regression on all tokens at once (one-hot, where they are symbols), standardised inputs
/// assumed: 200 full-batch steps of AdamW at 0.02 with weight decay `decay`.
inline double linear_probe(const comparison::Task& task, uint64_t seed, double decay) {
  using namespace tutti;
  const comparison::Sample sample = task.sample(seed);
  const auto inputs = [&](const comparison::Split& part) {
    Tensor x = task.tokens_of(part.x, false);
    if (task.symbols > 0) x = to(one_hot(x, task.symbols), DType::float32);
    return reshape(x, {x.size(0), -1});
  };
  const Tensor train = inputs(sample.train), test = inputs(sample.test);
  manual_seed(seed);
  nn::Linear model({.in = train.size(1), .out = task.classes});
  optim::AdamW optimizer(model.parameters(), {.lr = 0.02, .weight_decay = decay});
  for (int step = 0; step < 200; ++step) {
    optimizer.zero_grad();
    cross_entropy(model(train), sample.train.y).backward();
    optimizer.step();
  }
  const no_grad off;
  return metrics::accuracy(model(test), sample.test.y);
}

/// Its mean over the seeds 1 .. n.
inline double linear_probes(const comparison::Task& task, uint64_t n, double decay) {
  double total = 0;
  for (uint64_t seed = 1; seed <= n; ++seed) total += linear_probe(task, seed, decay);
  return total / static_cast<double>(n);
}

}  // namespace tutti_test
