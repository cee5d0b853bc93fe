// Dropout as a module: active in training mode only.
#pragma once
#include "tutti/nn/module.h"

#pragma GCC visibility push(default)
namespace tutti::nn {

class Dropout : public Callable<Dropout> {
 public:
  explicit Dropout(double p = 0.5);  ///< ValueError unless 0 <= p <= 1
  Tensor forward(const Tensor& x) const;
  double p() const { return p_; }

 private:
  double p_;
};

}  // namespace tutti::nn
#pragma GCC visibility pop
