// Activations as modules, for Sequential.
#pragma once
#include "tutti/nn/module.h"
#include "tutti/ops/activation.h"

#pragma GCC visibility push(default)
namespace tutti::nn {

struct ReLU : Callable<ReLU> {
  Tensor forward(const Tensor& x) const { return relu(x); }
};
struct SiLU : Callable<SiLU> {
  Tensor forward(const Tensor& x) const { return silu(x); }
};
class GELU : public Callable<GELU> {
 public:
  explicit GELU(Gelu form = Gelu::erf) : form_(form) {}
  Tensor forward(const Tensor& x) const { return gelu(x, form_); }

 private:
  Gelu form_;
};

}  // namespace tutti::nn
#pragma GCC visibility pop
