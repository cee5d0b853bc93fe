#include "tutti/nn/sequential.h"

namespace tutti::nn {

Sequential::Sequential(const Sequential& other) : Callable(other) {
  for (const auto& step : other.steps_) steps_.push_back(step->copy());
}

Sequential& Sequential::operator=(const Sequential& other) {
  if (this == &other) return *this;
  if (!name_of(&other).empty() || !other.name_of(this).empty()) {  // one inside the other: both would change
    const Sequential copy = other;
    return *this = copy;
  }
  std::vector<std::unique_ptr<Step>> steps(other.steps_.size());
  for (size_t i = 0; i < steps.size(); ++i)
    if (i >= steps_.size() || !steps_[i]->like(*other.steps_[i])) steps[i] = other.steps_[i]->copy();
  for (size_t i = 0; i < steps.size(); ++i)
    if (!steps[i]) steps_[i]->assign(*other.steps_[i]);
  for (size_t i = 0; i < steps.size(); ++i)
    if (!steps[i]) steps[i] = std::move(steps_[i]);
  steps_ = std::move(steps);
  Callable::operator=(other);
  return *this;
}

void Sequential::children(Visitor& visit) {
  for (size_t i = 0; i < steps_.size(); ++i) visit(std::to_string(i), steps_[i]->module());
}

Tensor Sequential::forward(const Tensor& x) {
  Tensor y = x;
  for (const auto& step : steps_) y = step->call(y);
  return y;
}

}  // namespace tutti::nn
