// Logistic regression on a task's tokens, for tests that hold a generated task against published linear scores.
#pragma once
#include "grouped_vs_standard/tasks/task.h"
#include "tutti/tutti.h"

/// Test accuracy (0 to 1) of softmax regression on the flattened tokens [B, T inputs] of one seed's training samples:
/// `steps` full-batch AdamW steps with cosine decay.
inline double logistic_accuracy(const comparison::Task& task, uint64_t seed, int64_t steps, double lr = 0.02,
                                double weight_decay = 0.1) {
  using namespace tutti;
  const auto [train, test] = task.sample(seed);
  const auto flat = [&](const Tensor& x) { return reshape(task.tokens_of(x, false), {x.size(0), -1}); };
  const Tensor x = flat(train.x);
  manual_seed(seed);
  nn::Linear model({.in = x.size(1), .out = task.classes});
  optim::AdamW optimizer(model.parameters(), {.lr = lr, .weight_decay = weight_decay});
  optim::Scheduler schedule(optimizer, optim::cosine(steps));
  for (int64_t i = 0; i < steps; ++i) {
    const Tensor loss = cross_entropy(model(x), train.y);
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    schedule.step();
  }
  const no_grad off;
  return mean(to(eq(argmax(model(flat(test.x)), 1), test.y), DType::float32)).item();
}
