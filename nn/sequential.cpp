#include "tutti/nn/sequential.h"

namespace tutti::nn {

Sequential::Sequential(const Sequential& other) : Callable(other) {
  for (const auto& step : other.steps_) steps_.push_back(step->copy());
}

Sequential& Sequential::operator=(const Sequential& other) {
  if (this == &other) return *this;
  Callable::operator=(other);
  for (size_t i = 0; i < other.steps_.size(); ++i) {
    const Step& step = *other.steps_[i];
    if (i == steps_.size())
      steps_.push_back(step.copy());
    else if (!steps_[i]->assign(step))
      steps_[i] = step.copy();
  }
  steps_.resize(other.steps_.size());
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
