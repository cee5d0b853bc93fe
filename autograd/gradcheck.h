// gradcheck: a function's gradients against central differences. Public: check your own operations with it.
#pragma once
#include <functional>
#include <vector>

#include "tutti/core/tensor.h"

#pragma GCC visibility push(default)
namespace tutti {

struct GradcheckOptions {
  double step = 1e-5;      ///< of the central difference
  double relative = 1e-5;  ///< tolerances: |gradient - difference| <= absolute + relative * |difference|
  double absolute = 1e-7;
};

/// Compares d(sum of f(inputs) · c)/d(inputs), with fixed random c, for every element of every input that requires a
/// gradient. Inputs may have any strides; differences are taken on contiguous copies of them. True if all agree, else
/// AutogradError naming input, element and both values. DTypeError unless these inputs and the result are float64;
/// ValueError if no input requires a gradient; AutogradError if f gives other values when called again (it draws random
/// numbers, say).
bool gradcheck(const std::function<Tensor(const std::vector<Tensor>&)>& f, const std::vector<Tensor>& inputs,
               GradcheckOptions options = {});

/// The same for the gradient's own gradient (create_graph), with respect to the inputs and to f's output gradient.
bool gradgradcheck(const std::function<Tensor(const std::vector<Tensor>&)>& f, const std::vector<Tensor>& inputs,
                   GradcheckOptions options = {});

}  // namespace tutti
#pragma GCC visibility pop
