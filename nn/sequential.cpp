#include "tutti/nn/sequential.h"

namespace tutti::nn {

Sequential::Sequential(const Sequential& other) : Callable(other) {
  for (const auto& step : other.steps_) steps_.push_back(step->copy());
}

Sequential& Sequential::operator=(const Sequential& other) {
  Sequential copy(other);
  return *this = std::move(copy);
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
