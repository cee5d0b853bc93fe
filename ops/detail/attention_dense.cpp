#include "tutti/ops/detail/attention_dense.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "tutti/ops/arithmetic.h"
#include "tutti/ops/compare.h"
#include "tutti/ops/copy.h"
#include "tutti/ops/create.h"
#include "tutti/ops/index.h"
#include "tutti/ops/join.h"
#include "tutti/ops/matmul.h"
#include "tutti/ops/reduce.h"
#include "tutti/ops/shape.h"
#include "tutti/ops/softmax.h"
#include "tutti/ops/unary.h"

namespace tutti {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Queries [begin, end) of the layout whose every entry stands for block x block scores: [end - begin, Tk].
Tensor expand_blocks(const Tensor& layout, int64_t block, int64_t begin, int64_t end, int64_t Tk) {
  std::vector<int64_t> rows;
  for (int64_t i = begin; i < end; ++i) rows.push_back(i / block);
  const int64_t n = end - begin, columns = layout.size(1);
  const Tensor wide = index_select(layout, 0, Tensor::from(rows, {n}, layout.device()));
  block = std::min(block, Tk);  // a larger one is the same, and its multiples may not fit
  return slice(reshape(expand(unsqueeze(wide, 2), {n, columns, block}), {n, columns * block}), 1, 0, Tk);
}

/// The mask's most negative number, as in the fused kernels: far below any score, and no sum with one overflows.
double most_negative(DType dtype) {
  const double largest = dtype == DType::float64   ? std::numeric_limits<double>::max()
                         : dtype == DType::float16 ? 65504
                                                   : static_cast<double>(std::numeric_limits<float>::max());
  return -largest / 4 / std::numbers::log2e;
}

/// Each key/value head once per query head that uses it.
Tensor repeat_heads(const Tensor& x, int64_t group) {
  if (group == 1) return x;
  const Dims s = x.shape();
  return reshape(expand(unsqueeze(x, 2), {s[0], s[1], group, s[2], s[3]}), {s[0], s[1] * group, s[2], s[3]});
}
Tensor sum_heads(const Tensor& x, int64_t group) {
  if (group == 1) return x;
  const Dims s = x.shape();
  return sum(reshape(x, {s[0], s[1] / group, group, s[2], s[3]}), 2);
}

}  // namespace

Tensor shown(const Tensor& mask) { return mask.dtype() == DType::boolean ? mask : ne(mask, -infinity); }

Tensor visible_keys(const Visibility& visibility, int64_t begin, int64_t end, int64_t Tq, int64_t Tk, Device device) {
  const TensorOptions whole{.dtype = DType::float64, .device = device};  // exact for any number of tokens
  const Tensor query = unsqueeze(arange(static_cast<double>(begin), static_cast<double>(end), 1, whole), 1);
  const Tensor distance = query + static_cast<double>(Tk - Tq) - arange(0, static_cast<double>(Tk), 1, whole);
  Tensor seen = logical_and(ge(distance, static_cast<double>(visibility.nearest)),
                            le(distance, static_cast<double>(visibility.farthest)));
  if (visibility.layout.defined())
    seen = logical_and(seen, expand_blocks(visibility.layout, visibility.block, begin, end, Tk));
  if (!visibility.mask.defined()) return seen;
  const bool by_query = visibility.mask.rank() >= 2 && visibility.mask.size(-2) > 1;
  return logical_and(seen, shown(by_query ? slice(visibility.mask, -2, begin, end) : visibility.mask));
}

Tensor visible_keys(const Visibility& visibility, int64_t Tq, int64_t Tk, Device device) {
  return visible_keys(visibility, 0, Tq, Tq, Tk, device);
}

Tensor visible_scores(const Tensor& scores, const Tensor& mask, const Tensor& hidden) {
  Tensor biased = scores;
  if (mask.defined() && mask.dtype() != DType::boolean)
    biased = biased + where(hidden, zeros({}, {mask.dtype(), mask.device()}),
                            clamp(mask, most_negative(mask.dtype()), infinity));
  biased = masked_fill(biased, hidden, -infinity);
  const Tensor blind = all(hidden, -1, /*keepdim=*/true);
  return any(blind).item() != 0 ? masked_fill(biased, blind, 0) : biased;
}

FinitePart::FinitePart(const Tensor& x, bool look) : values(x) {
  if (!look || std::isfinite(sum(x.detach()).item())) return;  // a sum that overflows costs time, nothing else
  bad = isnan(x.detach() * 0.0);
  values = masked_fill(x, bad, 0);
}

Tensor products(const FinitePart& a, const FinitePart& b, const Tensor& hidden) {
  Tensor y = matmul(a.values, transpose(b.values, -1, -2));
  const auto seen = [&](const Tensor& bad) { return logical_and(bad, logical_not(hidden)); };
  const auto rows = [](const FinitePart& x) { return any(x.bad, -1, /*keepdim=*/true); };
  if (a.bad.defined()) y = masked_fill(y, seen(rows(a)), NAN);
  return b.bad.defined() ? masked_fill(y, seen(transpose(rows(b), -1, -2)), NAN) : y;
}

Tensor visible_sum(const Tensor& weights, const FinitePart& x, const Tensor& hidden) {
  const Tensor y = matmul(weights, x.values);
  if (!x.bad.defined()) return y;
  const Tensor seen = to(expand(logical_not(hidden), weights.shape()), DType::float32);
  return masked_fill(y, gt(matmul(seen, to(x.bad, DType::float32)), 0), NAN);
}

Grads dense_attention_backward(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& dy, double scale,
                               const Visibility& visibility) {
  const int64_t group = k.size(1) > 0 ? q.size(1) / k.size(1) : 1;
  const FinitePart queries(q), keys(repeat_heads(k, group)), values(repeat_heads(v, group)), results(dy);
  const Tensor hidden = logical_not(visible_keys(visibility, q.size(2), k.size(2), q.device()));
  const auto shown = [&](const Tensor& x) { return masked_fill(x, hidden, 0); };
  const Tensor p = shown(softmax(visible_scores(products(queries, keys, hidden) * scale, visibility.mask, hidden), -1));
  const Tensor dp = products(results, values, hidden);
  Tensor ds = p * (dp - sum(dp * p, -1, /*keepdim=*/true)) * scale;
  if (queries.bad.defined() || keys.bad.defined() || values.bad.defined() || results.bad.defined())
    ds = shown(ds);  // a row that sees NaN has it in its sum
  const Tensor hidden_from = transpose(hidden, -1, -2);
  return {visible_sum(ds, keys, hidden), sum_heads(visible_sum(transpose(ds, -1, -2), queries, hidden_from), group),
          sum_heads(visible_sum(transpose(p, -1, -2), results, hidden_from), group)};
}

Tensor dense_packed_attention_backward(const Tensor& qkv, const Tensor& dy, double scale,
                                       const Visibility& visibility) {
  Tensor part[3];
  for (int i = 0; i < 3; ++i) part[i] = transpose(select(qkv, 2, i), 1, 2);
  Grads d = dense_attention_backward(part[0], part[1], part[2], transpose(dy, 1, 2), scale, visibility);
  for (Tensor& t : d) t = transpose(t, 1, 2);
  return stack(d, 2);
}

}  // namespace tutti
