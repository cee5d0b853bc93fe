#include "tutti/nn/dynamic_groups.h"

#include <cmath>

#include "tutti/autograd/node.h"
#include "tutti/core/check.h"
#include "tutti/nn/init.h"
#include "tutti/nn/option.h"
#include "tutti/ops/arithmetic.h"
#include "tutti/ops/copy.h"
#include "tutti/ops/create.h"
#include "tutti/ops/extrema.h"
#include "tutti/ops/index.h"
#include "tutti/ops/join.h"
#include "tutti/ops/linear.h"
#include "tutti/ops/reduce.h"
#include "tutti/ops/shape.h"
#include "tutti/ops/softmax.h"

namespace tutti::nn {
namespace {

constexpr const char* layer = "DynamicGroups";

std::string braced(const std::vector<int64_t>& list) {
  std::string text;
  for (int64_t g : list) text += message(text.empty() ? "" : ", ", g);
  return "{" + text + "}";
}

DynamicProjectionOptions checked(DynamicProjectionOptions o) {
  check_positive(layer, "in", o.in);
  check_positive(layer, "width", o.width);
  check_dynamic(layer, o.dynamic, o.in, o.width);
  return o;
}

}  // namespace

void check_dynamic(const char* where, const DynamicGroupsOptions& o, int64_t in, int64_t width) {
  const auto& list = o.candidates;
  if (list.empty()) throw ValueError(message(where, ": dynamic.candidates is empty; {1, 2, 4} would do"));
  for (size_t i = 0; i < list.size(); ++i) {
    check_divides(where, "dynamic.candidates", list[i], "embed_dim", in);
    check_divides(where, "dynamic.candidates", list[i], "inner_dim", width);
    if (i > 0 && (list[i] <= list[i - 1] || list[i] % list[i - 1] != 0))
      throw ValueError(message(where, ": dynamic.candidates = ", braced(list), ": ", list[i], " is no multiple of ",
                               list[i - 1], " before it; each must divide the next, as in {1, 2, 4, 8}"));
  }
  if (!(o.temperature > 0 && std::isfinite(o.temperature)))
    throw ValueError(message(where, ": dynamic.temperature is ", o.temperature, "; it must be positive"));
}

DynamicGroups::DynamicGroups(DynamicProjectionOptions options)
    : options_(checked(std::move(options))),
      gate({.in = options_.in,
            .out = static_cast<int64_t>(options_.dynamic.candidates.size()),
            .init = LinearInit::xavier}) {
  const auto& o = options_;
  weight = Parameter(empty({3, o.width, o.in}));
  init::xavier_uniform_(weight, std::sqrt(static_cast<double>(o.dynamic.candidates.front())));
  if (o.bias) bias = Parameter(zeros({3 * o.width}));
}

void DynamicGroups::children(Visitor& visit) {
  visit("weight", weight);
  visit("bias", bias);
  visit("gate", gate);
}

Tensor DynamicGroups::blocks(int64_t groups) const {
  const int64_t out = options_.width / groups, in = options_.in / groups;
  if (groups == 1) return reshape(weight, {3, 1, out, in});
  const Tensor grid = permute(reshape(weight, {3, groups, out, groups, in}), {0, 1, 3, 2, 4});
  const Tensor diagonal = tutti::to(mul(arange(groups), static_cast<double>(groups + 1)), weight.tensor().device());
  return index_select(reshape(grid, {3, groups * groups, out, in}), 1, diagonal);
}

Tensor DynamicGroups::project(const Tensor& x, size_t candidate) const {
  return grouped_linear(x, blocks(options_.dynamic.candidates[candidate]), bias);
}

/// All candidates, weighted by a coefficient that is the hard choice in value and the softmax in gradient.
Tensor DynamicGroups::blend(const Tensor& x, const Tensor& share, const Tensor& hard) const {
  const int64_t n = share.size(1);
  const Tensor coefficients = add(hard, sub(share, share.detach()));  // the difference is 0, not nearly 0
  Tensor y;
  for (int64_t i = 0; i < n; ++i) {
    const Tensor part = mul(reshape(select(coefficients, 1, i), {x.size(0), 1, 1}), project(x, static_cast<size_t>(i)));
    y = y.defined() ? add(y, part) : part;
  }
  return y;
}

/// Each sample by its own candidate alone.
Tensor DynamicGroups::partition(const Tensor& x, const Tensor& choice) const {
  const auto chosen = choice.to_vector<int64_t>();
  std::vector<int64_t> place(chosen.size());  // where a sample's result lies among the joined pieces
  std::vector<Tensor> pieces;
  int64_t next = 0;
  for (size_t i = 0; i < options_.dynamic.candidates.size(); ++i) {
    std::vector<int64_t> rows;
    for (size_t b = 0; b < chosen.size(); ++b)
      if (chosen[b] == static_cast<int64_t>(i)) {
        rows.push_back(static_cast<int64_t>(b));
        place[b] = next++;
      }
    if (rows.size() == chosen.size()) return project(x, i);
    if (rows.empty()) continue;
    const Dims shape{static_cast<int64_t>(rows.size())};
    pieces.push_back(project(index_select(x, 0, tutti::to(Tensor::from(rows, shape), x.device())), i));
  }
  return index_select(cat(pieces, 0), 0, tutti::to(Tensor::from(place, {next}), x.device()));
}

Tensor DynamicGroups::forward(const Tensor& input) {
  const auto& o = options_;
  check_defined(layer, "x", input);
  if ((input.rank() != 2 && input.rank() != 3) || input.size(-1) != o.in)
    throw ShapeError(
        message(layer, ": input ", input.shape(), " is neither [batch, tokens, ", o.in, "] nor [tokens, ", o.in, "]"));
  const Tensor x = input.rank() == 3 ? input : unsqueeze(input, 0);
  const Tensor share = softmax(div(gate(mean(x, 1)), o.dynamic.temperature), 1);
  choice_ = argmax(share, 1);
  const Tensor hard = tutti::to(one_hot(choice_, share.size(1)), share.dtype());
  std::vector<double> cost;
  for (int64_t g : o.dynamic.candidates) cost.push_back(1 / static_cast<double>(g));
  const Tensor costs = tutti::to(tutti::to(Tensor::from(cost, {share.size(1)}), share.dtype()), share.device());
  flops_share_ = mean(sum(mul(training() ? share : hard, costs), 1));
  const Tensor y = training() ? blend(x, share, hard) : partition(x, choice_);
  return input.rank() == 3 ? y : squeeze(y, 0);
}

Tensor DynamicGroups::flops_share() const {
  if (!flops_share_.defined()) throw ValueError(message(layer, ": flops_share before the first forward"));
  return flops_share_;
}

Tensor DynamicGroups::choice() const {
  if (!choice_.defined()) throw ValueError(message(layer, ": choice before the first forward"));
  return choice_;
}

}  // namespace tutti::nn
