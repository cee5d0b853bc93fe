#include "tutti/nn/attention/grouped_layer_norm.h"

#include "tutti/core/check.h"
#include "tutti/nn/option.h"
#include "tutti/ops/arithmetic.h"
#include "tutti/ops/create.h"
#include "tutti/ops/normalization.h"
#include "tutti/ops/shape.h"

namespace tutti::nn {

GroupedLayerNorm::GroupedLayerNorm(GroupedLayerNormOptions o) : options_(o) {
  constexpr const char* layer = "GroupedLayerNorm";
  check_positive(layer, "width", o.width);
  check_divides(layer, "groups", o.groups, "width", o.width);
  if (o.width == o.groups)
    throw ValueError(message(layer, ": groups = ", o.groups, " leaves one channel to a group of width = ", o.width,
                             ", and LayerNorm nothing of it; at most width / 2 groups fit"));
  check_eps(layer, "eps", o.eps);
  weight = Parameter(ones({o.width}));
  bias = Parameter(zeros({o.width}));
}

void GroupedLayerNorm::children(Visitor& visit) {
  visit("weight", weight);
  visit("bias", bias);
}

Tensor GroupedLayerNorm::forward(const Tensor& x) const {
  const auto& o = options_;
  check_defined("GroupedLayerNorm", "x", x);
  if (x.rank() < 1 || x.size(-1) != o.width)
    throw ShapeError(message("GroupedLayerNorm: input ", x.shape(), " does not end in width ", o.width));
  if (o.groups == 1) return layer_norm(x, weight, bias, o.eps);
  const Dims parts{o.groups, o.width / o.groups};
  Dims grouped = x.shape();
  grouped[grouped.n - 1] = parts[0];
  grouped.push(parts[1]);
  const Tensor normal = layer_norm(reshape(x, grouped), {}, {}, o.eps);
  return reshape(add(mul(normal, reshape(weight, parts)), reshape(bias, parts)), x.shape());
}

Tensor GroupedLayerNorm::one_group(const Tensor& x, int64_t group) const {
  const int64_t part = options_.width / options_.groups;
  const auto own = [&](const Tensor& p) { return slice(p, 0, group * part, (group + 1) * part); };
  return layer_norm(x, own(weight), own(bias), options_.eps);
}

}  // namespace tutti::nn
