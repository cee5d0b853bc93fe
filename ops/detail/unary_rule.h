// One rule for all functions of one tensor: a kernel, a fused gradient, and that gradient's own derivative.
// For ops/ (unary.cpp, activation.cpp); users call the named functions.
#pragma once
#include "tutti/backends/contract/unary.h"
#include "tutti/core/tensor.h"

#pragma GCC visibility push(default)
namespace tutti::detail {

/// f(x), differentiable any number of times. DTypeError for integers, except for neg and abs.
Tensor unary(Unary f, const Tensor& x);
/// dy f'(x) from z, which is what kernel::unary_backward wants: differentiable any number of times too.
Tensor unary_gradient(Unary f, const Tensor& dy, const Tensor& z);

}  // namespace tutti::detail
#pragma GCC visibility pop
