// Activations by name, for layers' options, and as modules, for Sequential.
#pragma once
#include "tutti/nn/module.h"
#include "tutti/ops/activation.h"

#pragma GCC visibility push(default)
namespace tutti::nn {

/// Which function; `gelu` is the form with erf.
enum class Activation { relu, gelu, gelu_tanh, silu };
inline Tensor activate(const Tensor& x, Activation f) {
  switch (f) {
    case Activation::relu:
      return relu(x);
    case Activation::gelu:
      return gelu(x);
    case Activation::gelu_tanh:
      return gelu(x, Gelu::tanh);
    default:
      return silu(x);
  }
}

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
