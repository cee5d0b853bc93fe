#include "tutti/nn/attention/grouped_attention.h"

#include <cmath>

#include "tutti/autograd/node.h"
#include "tutti/core/error.h"
#include "tutti/core/warning.h"
#include "tutti/nn/attention/cascade.h"
#include "tutti/nn/init.h"
#include "tutti/ops/arithmetic.h"
#include "tutti/ops/copy.h"
#include "tutti/ops/create.h"
#include "tutti/ops/detail/attention_dense.h"
#include "tutti/ops/linear.h"
#include "tutti/ops/shape.h"

namespace tutti::nn {
namespace {

using Options = GroupedMultiHeadAttentionOptions;
constexpr const char* layer = "GroupedMultiHeadAttention";

bool own_kv_width(const Options& o) { return o.num_kv_heads != o.num_heads; }

/// Xavier for every block [out, in] of weight [P, G, out, in] on its own, then the schedule's gain on the first
/// `scheduled` of the P maps. The numbers drawn do not depend on the schedule.
void start(const Parameter& weight, int64_t scheduled) {
  const no_grad off;
  init::xavier_uniform_(weight);
  for (int64_t i = 1; scheduled > 0 && i < weight.shape()[1]; ++i) {
    const Tensor blocks = select(slice(weight, 0, 0, scheduled), 1, i);
    copy_(blocks, mul(blocks, 1.0 / static_cast<double>(i + 1)));
  }
}

/// How many of q, k, v follow the schedule.
int64_t scheduled(const Options& o) {
  if (o.init == InitSchedule::constant) return 0;
  return o.init_on == ScheduledProjections::q ? 1 : o.init_on == ScheduledProjections::qk ? 2 : 3;
}

/// The article's advice for long sequences. Here nothing of size T x T is stored but by talking heads: for all others
/// what grows is the time.
void warn_if_long(int64_t tokens, GroupExchange exchange, const AttentionOptions& o) {
  constexpr int64_t long_sequence = 1024;
  if (tokens <= long_sequence) return;
  if (exchange == GroupExchange::talking_heads)
    warn_once(
        "talking heads",
        message(layer, ": talking heads over ", tokens, " tokens store the scores of all pairs of tokens, so that ",
                "memory and time grow with their square, also with a window; another exchange stores none"));
  if (exchange == GroupExchange::talking_heads || o.layout.defined() || (o.window > 0 && o.window < tokens)) return;
  warn_once("dense attention",
            message(layer, ": dense attention over ", tokens, " tokens: the time grows with their square; the option ",
                    "sparsity, or a window or layout in the call, makes it grow with what is visited"));
}

/// What needs all tokens at once, or keys and values in another form.
void check_cacheable(const Options& o) {
  const Sparsity pattern = o.sparsity.pattern;
  const char* reason = !o.dynamic.candidates.empty()                ? "dynamic.candidates"
                       : o.exchange == GroupExchange::talking_heads ? "exchange = talking_heads"
                       : o.exchange == GroupExchange::cascade       ? "exchange = cascade"
                       : pattern == Sparsity::dense                 ? nullptr
                       : pattern == Sparsity::sliding_window        ? nullptr
                                                                    : "sparsity by blocks";
  if (reason) throw ValueError(message(layer, ": a KVCache does not go with ", reason));
}

/// The tokens that the gate of dynamic groups may read, bool [B or 1, T]; undefined: all. It takes one mean for each
/// sample, so what it may not see must be the same for every query and head.
Tensor tokens_for_gate(const Tensor& x, int64_t heads, const AttentionOptions& call) {
  if (call.causal)
    throw ValueError(message(layer, ": causal with dynamic.candidates: the gate reads the mean of all tokens, so that ",
                             "the result of the first would depend on the last; fixed groups (no candidates) fit"));
  const Tensor& mask = call.mask;
  if (!mask.defined()) return {};
  const int64_t batch = x.rank() == 3 ? x.size(0) : 1, tokens = x.size(-2);
  check_mask(layer, mask, x, {batch, heads, tokens, tokens});
  const auto varies = [&mask](int axis) { return mask.rank() >= axis && mask.size(-axis) != 1; };
  if (varies(2) || varies(3))
    throw ValueError(
        message(layer, ": mask of shape ", mask.shape(), " with dynamic.candidates: the gate reads one mean ",
                "of tokens for each sample, so a mask must hide the same keys from all queries and heads, ",
                "as one of shape [", batch, ", 1, 1, ", tokens, "] does; or fixed groups (no candidates) ", "fit"));
  const Tensor keys = reshape(mask, {mask.rank() == 4 ? mask.size(0) : 1, mask.rank() > 0 ? mask.size(-1) : 1});
  return expand(shown(keys), {keys.size(0), tokens});
}

}  // namespace

GroupedMultiHeadAttention::GroupedMultiHeadAttention(Options options) : options_(checked(std::move(options))) {
  const auto& o = options_;
  const int64_t in = o.embed_dim / o.groups, inner = o.inner_dim, kv = inner / o.num_heads * o.num_kv_heads;
  const int64_t maps = own_kv_width(o) ? 1 : 3;
  if (!o.dynamic.candidates.empty()) {
    dynamic.emplace(DynamicProjectionOptions{.in = o.embed_dim, .width = inner, .dynamic = o.dynamic, .bias = o.bias});
  } else {
    weight = Parameter(empty({maps, o.groups, inner / o.groups, in}));
    if (o.bias) bias = Parameter(zeros({maps * inner}));
    start(weight, scheduled(o));
  }
  if (own_kv_width(o)) {
    kv_weight = Parameter(empty({2, o.groups, kv / o.groups, in}));
    if (o.bias) kv_bias = Parameter(zeros({2 * kv}));
    start(kv_weight, scheduled(o) - 1);
  }
  if (o.exchange == GroupExchange::inter_group)
    exchange.emplace<InterGroupPath>(
        InterGroupOptions{.in = o.embed_dim, .groups = o.groups, .width = inner / o.groups});
  else if (o.exchange == GroupExchange::talking_heads)
    exchange.emplace<TalkingHeads>(o.num_heads);
  else if (o.exchange == GroupExchange::tokens_over_groups)
    exchange.emplace<TokensOverGroups>(
        TokensOverGroupsOptions{.groups = o.groups, .width = inner / o.groups, .bias = o.bias});
  if (o.scale == AttentionScale::learned)
    head_scale = Parameter(full({o.num_heads}, 1 / std::sqrt(static_cast<double>(inner / o.num_heads))));
  if (o.norm != ProjectionNorm::none) {
    const int64_t groups = o.norm == ProjectionNorm::per_group ? o.groups : 1;
    norm_q.emplace(GroupedLayerNormOptions{.width = inner, .groups = groups, .eps = o.norm_eps});
    norm_k.emplace(GroupedLayerNormOptions{.width = kv, .groups = groups, .eps = o.norm_eps});
  }
  if (!o.group_dropout.rates.empty()) group_dropout.emplace(o.groups, o.group_dropout);
  if (o.output == OutputProjection::dense)
    out.emplace<Linear>(LinearOptions{.in = inner, .out = o.embed_dim, .bias = o.bias, .init = LinearInit::xavier});
  else if (o.output == OutputProjection::grouped)
    out.emplace<GroupedLinear>(GroupedLinearOptions{
        .in = inner, .out = o.embed_dim, .groups = o.groups, .bias = o.bias, .init = LinearInit::xavier});
}

void GroupedMultiHeadAttention::children(Visitor& visit) {
  visit("weight", weight);
  visit("bias", bias);
  visit("dynamic", dynamic);
  visit("kv_weight", kv_weight);
  visit("kv_bias", kv_bias);
  visit("head_scale", head_scale);
  visit("exchange", exchange);
  visit("norm_q", norm_q);
  visit("norm_k", norm_k);
  visit("group_dropout", group_dropout);
  visit("out", out);
}

double GroupedMultiHeadAttention::score_scale() const {
  const auto& o = options_;
  if (o.scale == AttentionScale::learned) return 1;
  const int64_t width = o.scale == AttentionScale::group_dim  ? o.inner_dim / o.groups
                        : o.scale == AttentionScale::head_dim ? o.inner_dim / o.num_heads
                                                              : o.embed_dim;
  return 1 / std::sqrt(static_cast<double>(width));
}

QueryKeyValue GroupedMultiHeadAttention::project(const Tensor& x, const AttentionOptions& call) {
  QueryKeyValue y{.num_heads = options_.num_heads, .num_kv_heads = options_.num_kv_heads};
  const Tensor first = dynamic ? (*dynamic)(x, tokens_for_gate(x, y.num_heads, call)) : grouped_linear(x, weight, bias);
  if (!kv_weight.defined()) {
    const auto* path = std::get_if<InterGroupPath>(&exchange);
    y.packed = path ? (*path)(x, first) : first;
    return y;
  }
  const auto kv = chunk(grouped_linear(x, kv_weight, kv_bias), 2, -1);
  y.q = first;
  y.k = kv[0];
  y.v = kv[1];
  return y;
}

void GroupedMultiHeadAttention::normalize(QueryKeyValue& x, int64_t group) const {
  if (!norm_q) return;
  x.unpack();
  x.q = group == all_groups ? (*norm_q)(x.q) : norm_q->one_group(x.q, group);
  x.k = group == all_groups ? (*norm_k)(x.k) : norm_k->one_group(x.k, group);
}

void GroupedMultiHeadAttention::scale_queries(QueryKeyValue& x, int64_t group) const {
  if (!head_scale.defined()) return;
  x.unpack();
  Dims heads = x.q.shape();
  heads[heads.n - 1] = x.num_heads;
  heads.push(x.q.size(-1) / x.num_heads);
  const int64_t first = group == all_groups ? 0 : group * x.num_heads;
  const Tensor scales = slice(head_scale, 0, first, first + x.num_heads);
  x.q = reshape(mul(reshape(x.q, heads), unsqueeze(scales, 1)), x.q.shape());
}

Tensor GroupedMultiHeadAttention::attend(const QueryKeyValue& x, const AttentionOptions& call) {
  const double scale = score_scale(), rate = training() ? options_.dropout : 0;
  if (const auto* talking = std::get_if<TalkingHeads>(&exchange))
    return talking_self_attention(*talking, x, scale, rate, call);
  return self_attention(x, scale, rate, call);
}

Tensor GroupedMultiHeadAttention::attend_in_cascade(const Tensor& x, const AttentionOptions& call,
                                                    std::vector<QueryKeyValue>* seen) {
  const int64_t heads = options_.num_heads / options_.groups;
  if (call.mask.defined())  // of all heads: a group's attention would name its own ones, or take a wrong slice
    check_mask(layer, call.mask, x, {x.rank() == 3 ? x.size(0) : 1, options_.num_heads, x.size(-2), x.size(-2)});
  const bool mask_by_head = call.mask.defined() && call.mask.rank() >= 3 && call.mask.size(-3) > 1;
  return cascade(x, weight, bias, [&](const Tensor& packed, int64_t group) {
    QueryKeyValue own{.packed = packed, .num_heads = heads, .num_kv_heads = heads};
    normalize(own, group);
    if (seen) seen->push_back(own);
    scale_queries(own, group);
    AttentionOptions options = call;
    if (mask_by_head) options.mask = slice(call.mask, -3, group * heads, (group + 1) * heads);
    return attend(own, options);
  });
}

Tensor GroupedMultiHeadAttention::mix_groups(const Tensor& context) {
  if (options_.exchange == GroupExchange::shuffle) return shuffle_groups(context, options_.groups);
  if (const auto* tokens = std::get_if<TokensOverGroups>(&exchange)) return (*tokens)(context);
  return context;
}

Tensor GroupedMultiHeadAttention::project_out(const Tensor& context) {
  if (auto* dense = std::get_if<Linear>(&out)) return (*dense)(context);
  if (auto* grouped = std::get_if<GroupedLinear>(&out)) return (*grouped)(context);
  return context;
}

Tensor GroupedMultiHeadAttention::context(const Tensor& x, const AttentionOptions& call,
                                          std::vector<QueryKeyValue>* seen) {
  check_self_attention(layer, x, options_.embed_dim, call);
  const AttentionOptions options = with_sparsity(layer, options_.sparsity, x.size(-2), x.device(), call);
  warn_if_long(x.size(-2), options_.exchange, options);
  if (options_.exchange == GroupExchange::cascade) return attend_in_cascade(x, options, seen);
  QueryKeyValue qkv = project(x, options);
  normalize(qkv);
  if (seen) seen->push_back(qkv);
  scale_queries(qkv);
  return attend(qkv, options);
}

Tensor GroupedMultiHeadAttention::forward(const Tensor& x, const AttentionOptions& options) {
  return finish(context(x, options));
}

Tensor GroupedMultiHeadAttention::forward(const Tensor& x, KVCache& cache, const AttentionOptions& options) {
  check_self_attention(layer, x, options_.embed_dim, options);
  check_cacheable(options_);
  QueryKeyValue qkv = project(x, options);
  normalize(qkv);
  scale_queries(qkv);
  return finish(cached_attention(layer, cache, weight, std::move(qkv), score_scale(), training() ? options_.dropout : 0,
                                 with_sparsity(layer, options_.sparsity, x.size(-2), x.device(), options)));
}

Tensor GroupedMultiHeadAttention::finish(const Tensor& context) {
  return project_out(mix_groups(group_dropout ? (*group_dropout)(context) : context));
}

}  // namespace tutti::nn
