#include "tutti/nn/attention/group_exchange.h"

#include "tutti/core/check.h"
#include "tutti/nn/attention/detail/group_view.h"
#include "tutti/nn/init.h"
#include "tutti/nn/option.h"
#include "tutti/ops/arithmetic.h"
#include "tutti/ops/attention.h"
#include "tutti/ops/create.h"
#include "tutti/ops/linear.h"

namespace tutti::nn {

Tensor shuffle_groups(const Tensor& x, int64_t groups) {
  constexpr const char* op = "shuffle_groups";
  check_defined(op, "x", x);
  check_positive(op, "groups", groups);
  if (x.rank() < 1 || x.size(-1) % groups != 0)
    throw ShapeError(message(op, ": x ", x.shape(), " does not end in channels that ", groups, " groups divide"));
  return reshape(transpose(split_channels(x, {groups, x.size(-1) / groups}), -1, -2), x.shape());
}

TokensOverGroups::TokensOverGroups(TokensOverGroupsOptions options) : options_(options) {
  check_positive("TokensOverGroups", "groups", options.groups);
  check_positive("TokensOverGroups", "width", options.width);
  weight = Parameter(empty({3, options.width, options.width}));
  init::xavier_uniform_(weight);
  if (options.bias) bias = Parameter(zeros({3 * options.width}));
}

void TokensOverGroups::children(Visitor& visit) {
  visit("weight", weight);
  visit("bias", bias);
}

Tensor TokensOverGroups::forward(const Tensor& x) const {
  const int64_t groups = options_.groups, width = options_.width;
  check_defined("TokensOverGroups", "x", x);
  if (x.rank() < 1 || x.size(-1) != groups * width)
    throw ShapeError(message("TokensOverGroups: x ", x.shape(), " does not end in ", groups, " groups x ", width, " = ",
                             groups * width));
  const int64_t positions = x.numel() / (groups * width);
  const Tensor qkv = linear(reshape(x, {positions, groups, width}), reshape(weight, {3 * width, width}), bias);
  const Tensor found = packed_attention(reshape(qkv, {positions, groups, 3, 1, width}));
  return add(x, reshape(found, x.shape()));
}

}  // namespace tutti::nn
