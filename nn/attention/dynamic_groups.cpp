#include "tutti/nn/attention/dynamic_groups.h"

#include <cmath>

#include "tutti/autograd/node.h"
#include "tutti/core/check.h"
#include "tutti/core/cuda_graph.h"
#include "tutti/nn/init.h"
#include "tutti/nn/option.h"
#include "tutti/ops/arithmetic.h"
#include "tutti/ops/compare.h"
#include "tutti/ops/copy.h"
#include "tutti/ops/create.h"
#include "tutti/ops/extrema.h"
#include "tutti/ops/index.h"
#include "tutti/ops/join.h"
#include "tutti/ops/linear.h"
#include "tutti/ops/reduce.h"
#include "tutti/ops/shape.h"
#include "tutti/ops/softmax.h"
#include "tutti/ops/unary.h"

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
  check_dynamic(layer, o.dynamic, {"in", o.in}, {"width", o.width});
  return o;
}

/// [B, C] of x [B, T, C]: over the tokens that are shown, or all of them; 0 of none.
Tensor mean_token(const Tensor& x, const Tensor& shown) {
  const int64_t tokens = x.size(1);
  if (tokens == 0) return sum(x, 1);
  if (!shown.defined()) return mean(x, 1);
  const Tensor count = to(sum(shown, 1, /*keepdim=*/true), DType::float64);
  const auto n = static_cast<double>(tokens);
  const Tensor share = to(div(n, clamp(count, 1, n)), x.dtype());  // exactly 1 if all are shown
  return mul(mean(masked_fill(x, unsqueeze(logical_not(shown), -1), 0), 1), share);
}

void check_shown(const Tensor& shown, const Tensor& x) {
  if (!shown.defined()) return;
  check_dtype(layer, "shown", shown, DType::boolean);
  if (shown.device() != x.device())
    throw DeviceError(message(layer, ": shown is on ", shown.device(), ", x on ", x.device()));
  if (shown.rank() != 2 || (shown.size(0) != 1 && shown.size(0) != x.size(0)) || shown.size(1) != x.size(1))
    throw ShapeError(message(layer, ": shown ", shown.shape(), " is neither [", x.size(0), ", ", x.size(1),
                             "] nor [1, ", x.size(1), "], a truth for each token"));
}

}  // namespace

void check_temperature(const char* where, const DynamicGroupsOptions& o) {
  if (!(o.temperature > 0 && std::isfinite(o.temperature)))
    throw ValueError(message(where, ": dynamic.temperature is ", o.temperature, "; it must be positive"));
}

void check_dynamic(const char* where, const DynamicGroupsOptions& o, NamedWidth in, NamedWidth width) {
  const auto& list = o.candidates;
  if (list.empty()) throw ValueError(message(where, ": dynamic.candidates is empty; {1, 2, 4} would do"));
  for (size_t i = 0; i < list.size(); ++i) {
    check_divides(where, "dynamic.candidates", list[i], in.option, in.value);
    check_divides(where, "dynamic.candidates", list[i], width.option, width.value);
    if (i == 0 || (list[i] > list[i - 1] && list[i] % list[i - 1] == 0)) continue;
    throw ValueError(message(where, ": dynamic.candidates = ", braced(list), ": ", list[i],
                             list[i] <= list[i - 1] ? " does not exceed the " : " is no multiple of ", list[i - 1],
                             " before it; each must divide the next, as in {1, 2, 4, 8}"));
  }
  check_temperature(where, o);
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
  const Tensor diagonal =
      arange(0, groups * groups, groups + 1, {.dtype = DType::int64, .device = weight.tensor().device()});
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
  if (Recording::current())
    throw DeviceError(message("CudaGraph: ", layer, " in evaluation waits for the device, for its gate's choices; in ",
                              "training it computes all candidates and waits for nothing"));
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
    pieces.push_back(project(index_select(x, 0, Tensor::from(rows, shape, x.device())), i));
  }
  return index_select(cat(pieces, 0), 0, Tensor::from(place, {next}, x.device()));
}

Tensor DynamicGroups::forward(const Tensor& input, const Tensor& shown) {
  const auto& o = options_;
  check_defined(layer, "x", input);
  if ((input.rank() != 2 && input.rank() != 3) || input.size(-1) != o.in)
    throw ShapeError(
        message(layer, ": input ", input.shape(), " is neither [batch, tokens, ", o.in, "] nor [tokens, ", o.in, "]"));
  const Tensor x = input.rank() == 3 ? input : unsqueeze(input, 0);
  check_shown(shown, x);
  const Tensor share = softmax(div(gate(mean_token(x, shown)), o.dynamic.temperature), 1);
  const Tensor choice = argmax(share, 1);
  const Tensor hard = tutti::to(one_hot(choice, share.size(1)), share.dtype());
  std::vector<double> cost;
  for (int64_t g : o.dynamic.candidates) cost.push_back(1 / static_cast<double>(g));
  const Tensor costs = tutti::to(Tensor::from(cost, {share.size(1)}, share.device()), share.dtype());
  const Tensor shares = sum(mul(training() ? share : hard, costs), 1);
  const Tensor y = training() ? blend(x, share, hard) : partition(x, choice);
  last_.set({.flops_share = x.size(0) > 0 ? mean(shares) : sum(shares),
             .choice = choice,
             .recorded = !training() || grad_mode()});
  return input.rank() == 3 ? y : squeeze(y, 0);
}

Tensor DynamicGroups::flops_share() const {
  const Found last = last_.get();
  if (!last.flops_share.defined()) throw ValueError(message(layer, ": flops_share before the first forward"));
  if (!last.recorded && grad_mode())
    throw ValueError(message(layer,
                             ": flops_share has no gradient, because the last forward in training did not record ",
                             "(checkpoint runs it so); call the layer outside checkpoint, or read this under no_grad"));
  return last.flops_share;
}

Tensor DynamicGroups::choice() const {
  const Found last = last_.get();
  if (!last.choice.defined()) throw ValueError(message(layer, ": choice before the first forward"));
  return last.choice;
}

DynamicGroups::Last& DynamicGroups::Last::operator=(const Last& other) noexcept {
  set(other.get());
  return *this;
}

DynamicGroups::Found DynamicGroups::Last::get() const noexcept {
  const std::lock_guard lock(mutex_);
  return found_;
}

void DynamicGroups::Last::set(Found found) noexcept {
  const std::lock_guard lock(mutex_);
  std::swap(found_, found);  // what was there is freed after the lock
}

}  // namespace tutti::nn
