#include "tutti/nn/attention/group_dropout.h"

#include <algorithm>

#include "tutti/core/check.h"
#include "tutti/nn/option.h"
#include "tutti/ops/arithmetic.h"
#include "tutti/ops/compare.h"
#include "tutti/ops/copy.h"
#include "tutti/ops/create.h"
#include "tutti/ops/extrema.h"
#include "tutti/ops/random.h"
#include "tutti/ops/shape.h"

namespace tutti::nn {
namespace {

using Rates = std::vector<double>;

/// A factor for every group, [G, 1] in x's dtype and on its device.
Tensor column(const Rates& values, DType dtype, Device device) {
  return to(Tensor::from(values, {static_cast<int64_t>(values.size()), 1}, device), dtype);
}

/// x times the factors where those are not 0, else 0: an infinite x is dropped too, which 0 times it is not.
Tensor times(const Tensor& x, const Tensor& factors) { return masked_fill(mul(x, factors), eq(factors, 0), 0); }

/// For each element 0 or 1 / (1 - p_i): [B, T, G, width].
Tensor element_factors(const Tensor& x, const Rates& rates) {
  Rates scales;
  for (double p : rates) scales.push_back(1 / (1 - p));
  const TensorOptions drawn{.dtype = DType::float32, .device = x.device()};
  const Tensor kept = ge(rand(x.shape(), drawn), column(rates, drawn.dtype, drawn.device));
  return mul(to(kept, x.dtype()), column(scales, x.dtype(), x.device()));
}

/// For each sample and group 0 or 1 / k_i: [B, 1, G, 1]. Group by group: as long as none was kept, the next is kept
/// with probability (1 - p_i) / (1 - p_i .. p_G), which is the distribution under the condition that some group is.
/// Those are no smaller than 1 - p_i, so that the first below its own is the first that is kept. Nothing is read on the
/// host: a CudaGraph may record it. float64: the same numbers on all devices.
Tensor group_factors(const Tensor& x, const Rates& rates) {
  const size_t groups = rates.size();
  Rates none_left(groups + 1, 1.0);  // the product of the rates from i on
  for (size_t i = groups; i-- > 0;) none_left[i] = none_left[i + 1] * rates[i];
  Rates columns;  // [3, G]: the probabilities of the first to be kept, of later ones, and the factors
  for (size_t i = 0; i < groups; ++i) columns.push_back((1 - rates[i]) / (1 - none_left[i]));
  for (size_t i = 0; i < groups; ++i) columns.push_back(1 - rates[i]);
  for (size_t i = 0; i < groups; ++i) columns.push_back((1 - none_left[0]) / (1 - rates[i]));
  const Tensor table = Tensor::from(columns, {3, x.size(2)}, x.device());
  const Tensor as_first = select(table, 0, 0), as_later = select(table, 0, 1), factor = select(table, 0, 2);
  const Tensor drawn = rand({x.size(0), x.size(2)}, {.dtype = DType::float64, .device = x.device()});
  const Tensor first = argmax(lt(drawn, as_first), 1, /*keepdim=*/true);
  const Tensor group = arange(x.size(2), {.dtype = DType::int64, .device = x.device()});
  const Tensor dropped = ge(drawn, where(gt(group, first), as_later, as_first));
  const Tensor factors = masked_fill(expand(factor, dropped.shape()), dropped, 0);
  return to(reshape(factors, {x.size(0), 1, x.size(2), 1}), x.dtype());
}

}  // namespace

void check_group_dropout(const std::string& where, const GroupDropoutOptions& o, int64_t groups) {
  const size_t n = o.rates.size();
  if (n == 0 && o.whole_groups)
    throw ValueError(message(
        where, "whole_groups without rates drops nothing; rates = {0.1}, say, or whole_groups = ", "false fits"));
  if (n > 1 && n != static_cast<size_t>(groups))
    throw ValueError(message(where, "rates has ", n, " entries for groups = ", groups, "; ", groups,
                             " of them, one for all, or none would fit"));
  for (size_t i = 0; i < n; ++i)
    if (!(o.rates[i] >= 0 && o.rates[i] < 1))
      throw ValueError(message(where, "rates[", i, "] is ", o.rates[i], "; it must be at least 0 and below 1"));
}

GroupDropout::GroupDropout(int64_t groups, GroupDropoutOptions o) : whole_groups_(o.whole_groups) {
  check_positive("GroupDropout", "groups", groups);
  check_group_dropout("GroupDropout: ", o, groups);
  rates_ = std::move(o.rates);
  if (rates_.size() < 2) rates_.resize(static_cast<size_t>(groups), rates_.empty() ? 0 : rates_[0]);
}

Tensor GroupDropout::forward(const Tensor& x) const {
  check_defined("GroupDropout", "x", x);
  const auto groups = static_cast<int64_t>(rates_.size());
  if ((x.rank() != 2 && x.rank() != 3) || x.size(-1) % groups != 0)
    throw ShapeError(message("GroupDropout: input ", x.shape(), " is neither [batch, tokens, channels] nor [tokens, ",
                             "channels] with channels a multiple of groups = ", groups));
  const auto equal = [this](double p) { return std::ranges::all_of(rates_, [p](double q) { return q == p; }); };
  if (!training() || equal(0)) return x;
  if (!whole_groups_ && equal(rates_[0])) return dropout(x, rates_[0]);
  const int64_t batch = x.rank() == 3 ? x.size(0) : 1, tokens = x.size(-2), width = x.size(-1) / groups;
  const Tensor grouped = reshape(x, {batch, tokens, groups, width});
  const Tensor factors = whole_groups_ ? group_factors(grouped, rates_) : element_factors(grouped, rates_);
  return reshape(times(grouped, factors), x.shape());
}

}  // namespace tutti::nn
