#include "tutti/nn/attention/cascade.h"

#include "tutti/core/check.h"
#include "tutti/core/error.h"
#include "tutti/ops/arithmetic.h"
#include "tutti/ops/join.h"
#include "tutti/ops/linear.h"
#include "tutti/ops/shape.h"

namespace tutti::nn {

Tensor cascade(const Tensor& x, const Tensor& weight, const Tensor& bias, const GroupAttention& attend) {
  check_defined("cascade", "x", x);
  check_defined("cascade", "weight", weight);
  if (weight.rank() != 4 || weight.size(0) != 3 || weight.size(2) != weight.size(3) || x.rank() < 1 ||
      x.size(-1) != weight.size(1) * weight.size(2) || (bias.defined() && bias.shape() != Dims{3 * x.size(-1)}))
    throw ShapeError(message("cascade: x ", x.shape(), " and weight ", weight.shape(),
                             bias.defined() ? message(" and bias ", bias.shape()) : "",
                             " are not [.., C] and [3, G, C/G, C/G]", bias.defined() ? " and [3 C]" : ""));
  const int64_t groups = weight.size(1), width = weight.size(2);
  const Tensor biases = bias.defined() ? reshape(bias, {3, groups, width}) : bias;
  std::vector<Tensor> found;
  for (int64_t j = 0; j < groups; ++j) {
    Tensor input = slice(x, -1, j * width, (j + 1) * width);
    if (j > 0) input = add(input, found.back());
    const Tensor own_bias = bias.defined() ? reshape(select(biases, 1, j), {3 * width}) : bias;
    found.push_back(attend(linear(input, reshape(select(weight, 1, j), {3 * width, width}), own_bias), j));
  }
  return cat(found, -1);
}

}  // namespace tutti::nn
