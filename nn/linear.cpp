#include "tutti/nn/linear.h"

#include <cmath>

#include "tutti/nn/init.h"
#include "tutti/nn/option.h"
#include "tutti/ops/create.h"
#include "tutti/ops/linear.h"

namespace tutti::nn {
namespace {

void start(LinearInit how, const Parameter& weight, const Parameter& bias) {
  if (how == LinearInit::zero) return;
  if (how == LinearInit::xavier) {
    init::xavier_uniform_(weight);
    return;
  }
  const double bound = 1 / std::sqrt(static_cast<double>(weight.tensor().size(-1)));
  init::uniform_(weight, -bound, bound);
  if (bias.defined()) init::uniform_(bias, -bound, bound);
}

}  // namespace

Linear::Linear(LinearOptions o) {
  check_positive("Linear", "in", o.in);
  check_positive("Linear", "out", o.out);
  weight = Parameter(zeros({o.out, o.in}));
  if (o.bias) bias = Parameter(zeros({o.out}));
  start(o.init, weight, bias);
}
void Linear::children(Visitor& visit) {
  visit("weight", weight);
  visit("bias", bias);
}
Tensor Linear::forward(const Tensor& x) const { return linear(x, weight, bias); }

GroupedLinear::GroupedLinear(GroupedLinearOptions o) {
  check_positive("GroupedLinear", "in", o.in);
  check_positive("GroupedLinear", "out", o.out);
  check_divides("GroupedLinear", "groups", o.groups, "in", o.in);
  check_divides("GroupedLinear", "groups", o.groups, "out", o.out);
  weight = Parameter(zeros({o.groups, o.out / o.groups, o.in / o.groups}));
  if (o.bias) bias = Parameter(zeros({o.out}));
  start(o.init, weight, bias);
}
void GroupedLinear::children(Visitor& visit) {
  visit("weight", weight);
  visit("bias", bias);
}
Tensor GroupedLinear::forward(const Tensor& x) const { return grouped_linear(x, weight, bias); }

}  // namespace tutti::nn
