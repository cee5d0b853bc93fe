#include "tutti/nn/attention/talking_heads.h"

#include <cmath>

#include "tutti/core/check.h"
#include "tutti/nn/option.h"
#include "tutti/ops/arithmetic.h"
#include "tutti/ops/compare.h"
#include "tutti/ops/create.h"
#include "tutti/ops/detail/attention_dense.h"
#include "tutti/ops/matmul.h"
#include "tutti/ops/random.h"
#include "tutti/ops/shape.h"
#include "tutti/ops/softmax.h"

namespace tutti::nn {
namespace {

constexpr const char* layer = "TalkingHeads";

void check_inputs(const Tensor& q, const Tensor& k, const Tensor& v, int64_t num_heads) {
  check_same(layer, q, k, "q", "k");
  check_same(layer, q, v, "q", "v");
  const auto fits = [&](const Tensor& x) { return x.rank() == 4 && x.size(0) == q.size(0); };
  if (!fits(q) || !fits(k) || !fits(v) || q.size(1) != num_heads || k.size(1) < 1 || num_heads % k.size(1) != 0 ||
      v.size(1) != k.size(1) || v.size(2) != k.size(2) || k.size(3) != q.size(3))
    throw ShapeError(message(layer, ": q ", q.shape(), ", k ", k.shape(), " and v ", v.shape(),
                             " are not [batch, heads, tokens, width] with ", num_heads,
                             " query heads, a divisor of them as key/value heads, and matching tokens and widths"));
}

void check_options(const AttentionOptions& o, const Tensor& q, const Dims& scores) {
  check_probability(layer, "dropout", o.dropout);
  if (o.window < 0) throw ValueError(message(layer, ": window ", o.window, " is negative"));
  if (o.layout.defined() || o.block != 0)
    throw ValueError(message(
        layer, ": a layout of blocks would save nothing, since all scores are computed; a mask or ", "window fits"));
  if (!std::isfinite(o.scale)) throw ValueError(message(layer, ": scale ", o.scale, " is not finite"));
  if (o.mask.defined()) check_mask(layer, o.mask, q, scores);
}

/// bool, broadcast to the scores: which keys a query does not see; undefined if it sees all.
Tensor hidden_keys(const AttentionOptions& o, int64_t queries, int64_t keys, Device device) {
  if (!o.causal && o.window == 0 && !o.mask.defined()) return {};
  const int64_t farthest = o.window > 0 ? o.window - 1 : queries + keys;
  return logical_not(
      visible_keys({.nearest = o.causal ? 0 : -farthest, .farthest = farthest, .mask = o.mask}, queries, keys, device));
}

/// Each key/value head once per query head that uses it.
Tensor repeat_heads(const Tensor& x, int64_t times) {
  if (times == 1) return x;
  const Dims s = x.shape();
  return reshape(expand(unsqueeze(x, 2), {s[0], s[1], times, s[2], s[3]}), {s[0], s[1] * times, s[2], s[3]});
}

/// Head i of the result is sum_j matrix[i, j] x_j, for x [B, H, Tq, Tk].
Tensor mix(const Tensor& matrix, const Tensor& x) {
  const Dims s = x.shape();
  return reshape(matmul(matrix, reshape(x, {s[0], s[1], s[2] * s[3]})), s);
}

}  // namespace

TalkingHeads::TalkingHeads(int64_t num_heads) {
  check_positive(layer, "num_heads", num_heads);
  before = Parameter(eye(num_heads));
  after = Parameter(eye(num_heads));
}

void TalkingHeads::children(Visitor& visit) {
  visit("before", before);
  visit("after", after);
}

Tensor TalkingHeads::forward(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options) const {
  const int64_t heads = before.tensor().size(0);
  check_inputs(q, k, v, heads);
  check_options(options, q, {q.size(0), heads, q.size(2), k.size(2)});
  const double scale = options.scale != 0 ? options.scale : 1 / std::sqrt(static_cast<double>(q.size(3)));
  const Tensor hidden = hidden_keys(options, q.size(2), k.size(2), q.device());
  const int64_t times = heads / k.size(1);
  const bool some = hidden.defined();
  const FinitePart queries(q, some), keys(repeat_heads(k, times), some), values(repeat_heads(v, times), some);

  const Tensor mixed = mix(mul(before, scale), products(queries, keys, hidden));
  Tensor weights = softmax(some ? visible_scores(mixed, options.mask, hidden) : mixed, -1);
  if (some) weights = masked_fill(weights, hidden, 0);
  weights = mix(after, weights);
  const bool hidden_by_head = some && hidden.rank() >= 3 && hidden.size(-3) > 1;
  if (hidden_by_head) weights = masked_fill(weights, hidden, 0);  // else what other heads see would come in
  return visible_sum(dropout(weights, options.dropout), values, hidden);
}

Tensor talking_self_attention(const TalkingHeads& heads, QueryKeyValue x, double scale, double dropout,
                              AttentionOptions call) {
  x.unpack();
  call.scale = scale;
  call.dropout = dropout;
  const Tensor context =
      heads(split_heads(x.q, x.num_heads), split_heads(x.k, x.num_kv_heads), split_heads(x.v, x.num_kv_heads), call);
  return merge_heads(context, x.q.rank() == 3);
}

}  // namespace tutti::nn
