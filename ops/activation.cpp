#include "tutti/ops/activation.h"

#include "tutti/ops/detail/unary_rule.h"

namespace tutti {

Tensor sigmoid(const Tensor& x) { return detail::unary(Unary::sigmoid, x); }
Tensor relu(const Tensor& x) { return detail::unary(Unary::relu, x); }
Tensor silu(const Tensor& x) { return detail::unary(Unary::silu, x); }
Tensor gelu(const Tensor& x, Gelu form) { return detail::unary(form == Gelu::erf ? Unary::gelu : Unary::gelu_tanh, x); }

}  // namespace tutti
