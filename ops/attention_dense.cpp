#include "tutti/ops/attention_dense.h"

#include <algorithm>
#include <limits>

#include "tutti/ops/arithmetic.h"
#include "tutti/ops/compare.h"
#include "tutti/ops/create.h"
#include "tutti/ops/join.h"
#include "tutti/ops/matmul.h"
#include "tutti/ops/reduce.h"
#include "tutti/ops/shape.h"
#include "tutti/ops/softmax.h"

namespace tutti {
namespace {

/// Every entry of the layout block x block times, cut to [Tq, Tk].
Tensor expand_blocks(const Tensor& layout, int64_t block, int64_t Tq, int64_t Tk) {
  block = std::min(block, std::max(Tq, Tk));  // a larger one is the same, and its multiples may not fit
  const int64_t rows = layout.size(0), columns = layout.size(1);
  const Tensor whole = reshape(expand(reshape(layout, {rows, 1, columns, 1}), {rows, block, columns, block}),
                               {rows * block, columns * block});
  return slice(slice(whole, 0, 0, Tq), 1, 0, Tk);
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

Tensor visible_keys(const Visibility& visibility, int64_t Tq, int64_t Tk, Device device) {
  const TensorOptions whole{.dtype = DType::float64, .device = device};  // exact for any number of tokens
  const Tensor query = unsqueeze(arange(0, static_cast<double>(Tq), 1, whole), 1);
  const Tensor distance = query + static_cast<double>(Tk - Tq) - arange(0, static_cast<double>(Tk), 1, whole);
  Tensor seen = logical_and(ge(distance, static_cast<double>(visibility.nearest)),
                            le(distance, static_cast<double>(visibility.farthest)));
  if (visibility.layout.defined()) seen = logical_and(seen, expand_blocks(visibility.layout, visibility.block, Tq, Tk));
  const Tensor& mask = visibility.mask;
  if (!mask.defined()) return seen;
  constexpr double hidden = -std::numeric_limits<double>::infinity();
  return logical_and(seen, mask.dtype() == DType::boolean ? mask : ne(mask, hidden));
}

Grads dense_attention_backward(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& dy, double scale,
                               const Visibility& visibility) {
  const Tensor& mask = visibility.mask;
  const int64_t group = k.size(1) > 0 ? q.size(1) / k.size(1) : 1;
  const Tensor keys = repeat_heads(k, group), values = repeat_heads(v, group);
  const Tensor seen = visible_keys(visibility, q.size(2), k.size(2), q.device());
  const Tensor hidden = logical_not(seen);
  Tensor scores = matmul(q, transpose(keys, -1, -2)) * scale;
  if (mask.defined() && mask.dtype() != DType::boolean)
    scores = scores + where(hidden, zeros({}, {mask.dtype(), mask.device()}), mask);
  // A row without a key is uniform after softmax and 0 after the second fill.
  constexpr double low = -1e30;
  const Tensor p = masked_fill(softmax(masked_fill(scores, hidden, low), -1), hidden, 0);
  const Tensor dp = matmul(dy, transpose(values, -1, -2));
  const Tensor ds = p * (dp - sum(dp * p, -1, /*keepdim=*/true)) * scale;
  return {matmul(ds, keys), sum_heads(matmul(transpose(ds, -1, -2), q), group),
          sum_heads(matmul(transpose(p, -1, -2), dy), group)};
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
