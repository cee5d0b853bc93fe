// gradcheck: a function's gradients against central differences. Public: check your own operations with it.
#pragma once
#include <functional>
#include <vector>

#include "tutti/core/tensor.h"

#pragma GCC visibility push(default)
namespace tutti {

struct GradcheckOptions {
  double step = 1e-5;      ///< of the central difference, in float64
  double relative = 1e-5;  ///< tolerance
  double absolute = 1e-7;
};

/// Checks d(sum f(inputs) * c)/d(inputs) with fixed random c, every element of every input that requires a gradient
/// (float64 only: DTypeError otherwise). AutogradError naming input, element and both values if one differs; true if
/// all agree.
bool gradcheck(const std::function<Tensor(const std::vector<Tensor>&)>& f, const std::vector<Tensor>& inputs,
               GradcheckOptions options = {});
/// The same for the gradient's own gradient (create_graph).
bool gradgradcheck(const std::function<Tensor(const std::vector<Tensor>&)>& f, const std::vector<Tensor>& inputs,
                   GradcheckOptions options = {});

}  // namespace tutti
#pragma GCC visibility pop
