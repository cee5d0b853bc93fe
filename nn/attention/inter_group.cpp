#include "tutti/nn/attention/inter_group.h"

#include <cmath>

#include "tutti/core/check.h"
#include "tutti/nn/attention/detail/group_view.h"
#include "tutti/nn/init.h"
#include "tutti/nn/option.h"
#include "tutti/ops/arithmetic.h"
#include "tutti/ops/create.h"
#include "tutti/ops/linear.h"

namespace tutti::nn {
namespace {
constexpr const char* layer = "InterGroupPath";
}

InterGroupPath::InterGroupPath(InterGroupOptions options) : options_(options) {
  check_positive(layer, "in", options.in);
  check_positive(layer, "groups", options.groups);
  check_positive(layer, "width", options.width);
  weight = Parameter(empty({3, options.width, options.in}));
  init::xavier_uniform_(weight);
}

void InterGroupPath::children(Visitor& visit) { visit("weight", weight); }

Tensor InterGroupPath::forward(const Tensor& x, const Tensor& grouped) const {
  const auto& o = options_;
  check_defined(layer, "grouped", grouped);
  if (grouped.rank() < 1 || grouped.size(-1) != 3 * o.groups * o.width)
    throw ShapeError(message(layer, ": grouped ", grouped.shape(), " does not end in 3 x ", o.groups, " groups x ",
                             o.width, " = ", 3 * o.groups * o.width));
  const Tensor shared = linear(x, reshape(weight, {3 * o.width, o.in}));
  const Tensor both = add(split_channels(grouped, {3, o.groups, o.width}), split_channels(shared, {3, 1, o.width}));
  return reshape(mul(both, 1 / std::sqrt(2.0)), grouped.shape());
}

}  // namespace tutti::nn
