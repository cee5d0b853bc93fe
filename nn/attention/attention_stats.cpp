#include "tutti/nn/attention/attention_stats.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tutti/autograd/node.h"
#include "tutti/core/error.h"
#include "tutti/ops/arithmetic.h"
#include "tutti/ops/compare.h"
#include "tutti/ops/copy.h"
#include "tutti/ops/create.h"
#include "tutti/ops/detail/attention_dense.h"
#include "tutti/ops/matmul.h"
#include "tutti/ops/reduce.h"
#include "tutti/ops/shape.h"
#include "tutti/ops/softmax.h"
#include "tutti/ops/unary.h"

namespace tutti::nn {
namespace {

constexpr const char* name = "attention_stats";

Tensor wide(const Tensor& x) { return x.dtype() == DType::float64 ? x : to(x, DType::float32); }

/// Which keys the queries [begin, end) see: bool [B, H, end - begin, T], or undefined if each sees every key.
Tensor seen_keys(const AttentionOptions& o, const Dims& scores, int64_t begin, int64_t end, Device device) {
  const int64_t tokens = scores[2];
  const bool band = o.causal || (o.window > 0 && o.window < tokens);
  if (!band && !o.mask.defined() && !o.layout.defined()) return {};
  const int64_t farthest = o.window > 0 && o.window < tokens ? o.window - 1 : tokens;
  const Visibility visibility{o.causal ? 0 : -farthest, farthest, o.mask, o.layout, o.block};
  return expand(visible_keys(visibility, begin, end, tokens, tokens, device),
                {scores[0], scores[1], end - begin, tokens});
}

/// Sums over rows and over channels.
class Measure {
 public:
  /// For q, k [B, H, T, D]; scale [H, 1, 1]; seen(begin, end) as seen_keys gives it; mask [B, H, T, T] or undefined.
  template <class Seen>
  void add(const Tensor& q, const Tensor& k, const Tensor& scale, const Seen& seen, const Tensor& mask) {
    constexpr int64_t step = 64;  // queries at a time
    const Tensor keys = transpose(k, -1, -2);
    for (int64_t at = 0; at < q.size(2); at += step) {
      const int64_t end = std::min(at + step, q.size(2));
      const auto part = [&](const Tensor& x) { return x.defined() ? slice(x, 2, at, end) : x; };
      add_rows(matmul(part(q), keys) * scale, seen(at, end), part(mask));
    }
    if (k.numel() == 0) return;
    expected_ += sum(mean(square(q), {0, 2}) * mean(var(k, Dims{2}, /*correction=*/0), 0)).item();
    factor_ += sum(square(scale)).item() * static_cast<double>(q.size(3));
    channels_ += static_cast<double>(q.size(1) * q.size(3));
    heads_ += static_cast<double>(q.size(1));
  }
  double spread() const { return rows_ > 0 ? std::sqrt(variance_ / rows_) : 0; }
  double entropy() const { return rows_ > 0 ? entropy_ / rows_ : 0; }
  double expected() const { return channels_ > 0 ? std::sqrt(expected_ / channels_) : 0; }
  /// scale sqrt(D), its root mean square over the heads.
  double factor() const { return heads_ > 0 ? std::sqrt(factor_ / heads_) : 1; }

 private:
  void add_rows(const Tensor& scores, const Tensor& seen, const Tensor& mask) {
    const TensorOptions like{scores.dtype(), scores.device()};
    const Tensor shown = seen.defined() ? to(seen, scores.dtype()) : ones({}, like);
    const Tensor keys = seen.defined() ? sum(shown, -1, true) : full({}, static_cast<double>(scores.size(-1)), like);
    const Tensor counts = to(ge(keys, 2.0), scores.dtype());
    const Tensor number = maximum_of(keys);
    const Tensor centred = (scores - sum(scores * shown, -1, true) / number) * shown;
    variance_ += sum(sum(square(centred), -1, true) / number * counts).item();
    const Tensor hidden = seen.defined() ? logical_not(seen) : seen;
    Tensor log_weights = log_softmax(seen.defined() ? visible_scores(scores, mask, hidden) : scores, -1);
    if (seen.defined()) log_weights = masked_fill(log_weights, hidden, 0);  // 0 * -inf is NaN
    entropy_ -= sum(sum(exp(log_weights) * log_weights, -1, true) / log(number) * counts).item();
    rows_ += seen.defined() || scores.size(-1) < 2 ? sum(expand(counts, row_shape(scores))).item()
                                                   : static_cast<double>(scores.numel() / scores.size(-1));
  }
  /// At least 2, so that rows that do not count divide by something.
  static Tensor maximum_of(const Tensor& keys) { return clamp(keys, 2, std::numeric_limits<double>::infinity()); }
  static Dims row_shape(const Tensor& scores) { return {scores.size(0), scores.size(1), scores.size(2), 1}; }

  double variance_ = 0, entropy_ = 0, rows_ = 0, expected_ = 0, channels_ = 0, factor_ = 0, heads_ = 0;
};

/// Each key head once per query head that uses it.
Tensor repeat_heads(const Tensor& x, int64_t times) {
  if (times == 1) return x;
  const Dims s = x.shape();
  return reshape(expand(unsqueeze(x, 2), {s[0], s[1], times, s[2], s[3]}), {s[0], s[1] * times, s[2], s[3]});
}

/// Fills all but the context's. `scales` has one entry for each head; `scale_option` names where it comes from.
AttentionStats measure(std::vector<QueryKeyValue> seen, const std::vector<double>& scales,
                       const AttentionOptions& options, const std::string& scale_option) {
  Measure m;
  int64_t first = 0;
  const auto heads_of_all = static_cast<int64_t>(scales.size());
  for (QueryKeyValue& x : seen) {
    x.unpack();
    const Tensor q = wide(split_heads(x.q, x.num_heads));
    const Tensor k = repeat_heads(wide(split_heads(x.k, x.num_kv_heads)), x.num_heads / x.num_kv_heads);
    const Dims scores{q.size(0), heads_of_all, q.size(2), q.size(2)};
    const auto own = [&](const Tensor& t) { return t.defined() ? slice(t, 1, first, first + x.num_heads) : t; };
    const auto visible = [&](int64_t begin, int64_t end) {
      return own(seen_keys(options, scores, begin, end, q.device()));
    };
    Tensor mask;
    if (options.mask.defined() && options.mask.dtype() != DType::boolean)
      mask = own(expand(to(options.mask, q.dtype()), scores));
    const std::vector<double> part(scales.begin() + first, scales.begin() + first + x.num_heads);
    const Tensor scale = to(Tensor::from(part, {x.num_heads, 1, 1}, q.device()), q.dtype());
    m.add(q, k, scale, visible, mask);
    first += x.num_heads;
  }
  AttentionStats s{.logit_spread = m.spread(), .expected_spread = m.expected(), .entropy = m.entropy()};
  const double ratio = s.expected_spread > 0 ? s.logit_spread / s.expected_spread : 1, factor = m.factor();
  constexpr double most = AttentionStats::spread_tolerance;
  if ((ratio > most && factor > most) || (ratio < 1 / most && factor < 1 / most)) {
    const auto rounded = [](double v) { return std::round(v * 100) / 100; };
    s.warnings.push_back(message("logit spread ", rounded(s.logit_spread), ", expected about ",
                                 rounded(s.expected_spread), "; check ", scale_option, ": the scores are ",
                                 rounded(factor), " times those under 1 / sqrt(head width)"));
  }
  return s;
}

void measure_context(const Tensor& context, int64_t groups, AttentionStats& s) {
  const int64_t channels = context.size(-1), rows = channels > 0 ? context.numel() / channels : 0;
  if (rows == 0) return;
  const Tensor by_group = reshape(wide(context), {rows, groups, channels / groups});
  s.context_variance = mean(var(by_group, Dims{0}, /*correction=*/0), -1).to_vector<double>();
  const double largest = *std::max_element(s.context_variance.begin(), s.context_variance.end());
  for (size_t i = 0; i < s.context_variance.size(); ++i)
    if (s.context_variance[i] <= AttentionStats::dead_below * largest) s.dead_groups.push_back(static_cast<int64_t>(i));
}

}  // namespace

AttentionStats attention_stats(const GroupedMultiHeadAttention& layer, const Tensor& x,
                               const AttentionOptions& options) {
  const no_grad off;
  GroupedMultiHeadAttention copy = layer;
  copy.eval();
  const auto& o = copy.options();
  std::vector<QueryKeyValue> seen;
  const Tensor context = copy.context(x, options, &seen);
  std::vector<double> scales(static_cast<size_t>(o.num_heads), copy.score_scale());
  if (copy.head_scale.defined()) scales = copy.head_scale.tensor().to_vector<double>();
  AttentionStats s = measure(std::move(seen), scales, with_sparsity(name, o.sparsity, x.size(-2), x.device(), options),
                             message("scale = ", name_of(o.scale)));
  measure_context(context, o.groups, s);
  return s;
}

AttentionStats attention_stats(const MultiHeadAttention& layer, const Tensor& x, const AttentionOptions& options) {
  const no_grad off;
  MultiHeadAttention copy = layer;
  const int64_t heads = copy.options().num_heads, width = copy.options().embed_dim / heads;
  check_self_attention("MultiHeadAttention", x, copy.options().embed_dim, options);
  const QueryKeyValue qkv = copy.project(x);
  const double scale = 1 / std::sqrt(static_cast<double>(width));
  const Tensor context = self_attention(qkv, scale, 0, options);
  AttentionStats s = measure({qkv}, std::vector<double>(static_cast<size_t>(heads), scale), options, "scale");
  measure_context(context, heads, s);
  return s;
}

}  // namespace tutti::nn
