#include "tutti/nn/grouped_attention.h"

#include <cmath>

#include "tutti/autograd/node.h"
#include "tutti/nn/init.h"
#include "tutti/nn/self_attention.h"
#include "tutti/ops/arithmetic.h"
#include "tutti/ops/copy.h"
#include "tutti/ops/create.h"
#include "tutti/ops/linear.h"
#include "tutti/ops/shape.h"

namespace tutti::nn {
namespace {

constexpr const char* layer = "GroupedMultiHeadAttention";

/// Xavier for every block on its own, then the schedule's gain. The numbers drawn do not depend on the schedule.
void start(const Parameter& weight, const GroupedMultiHeadAttentionOptions& o) {
  const no_grad off;
  init::xavier_uniform_(weight);
  if (o.init == InitSchedule::constant) return;
  const int64_t scheduled = o.init_on == ScheduledProjections::q ? 1 : o.init_on == ScheduledProjections::qk ? 2 : 3;
  for (int64_t i = 1; i < o.groups; ++i) {
    const Tensor blocks = select(slice(weight, 0, 0, scheduled), 1, i);
    copy_(blocks, mul(blocks, 1.0 / static_cast<double>(i + 1)));
  }
}

}  // namespace

GroupedMultiHeadAttention::GroupedMultiHeadAttention(GroupedMultiHeadAttentionOptions options)
    : options_(checked(options)) {
  const auto& o = options_;
  const int64_t width = o.embed_dim / o.groups;
  weight = Parameter(empty({3, o.groups, width, width}));
  if (o.bias) bias = Parameter(zeros({3 * o.embed_dim}));
  start(weight, o);
  if (o.exchange == GroupExchange::inter_group)
    exchange.emplace<InterGroupPath>(
        InterGroupOptions{.in = o.embed_dim, .groups = o.groups, .width = o.inner_dim / o.groups});
  else if (o.exchange == GroupExchange::talking_heads)
    exchange.emplace<TalkingHeads>(o.num_heads);
  else if (o.exchange == GroupExchange::tokens_over_groups)
    exchange.emplace<TokensOverGroups>(
        TokensOverGroupsOptions{.groups = o.groups, .width = o.inner_dim / o.groups, .bias = o.bias});
  if (o.output == OutputProjection::dense)
    out.emplace<Linear>(
        LinearOptions{.in = o.embed_dim, .out = o.embed_dim, .bias = o.bias, .init = LinearInit::xavier});
  else if (o.output == OutputProjection::grouped)
    out.emplace<GroupedLinear>(GroupedLinearOptions{
        .in = o.embed_dim, .out = o.embed_dim, .groups = o.groups, .bias = o.bias, .init = LinearInit::xavier});
}

void GroupedMultiHeadAttention::children(Visitor& visit) {
  visit("weight", weight);
  visit("bias", bias);
  visit("exchange", exchange);
  visit("out", out);
}

double GroupedMultiHeadAttention::score_scale() const {
  const auto& o = options_;
  const int64_t width = o.scale == AttentionScale::group_dim  ? o.embed_dim / o.groups
                        : o.scale == AttentionScale::head_dim ? o.embed_dim / o.num_heads
                                                              : o.embed_dim;
  return 1 / std::sqrt(static_cast<double>(width));
}

Tensor GroupedMultiHeadAttention::forward(const Tensor& x, const AttentionOptions& options) {
  check_self_attention(layer, x, options_.embed_dim, options);
  Tensor qkv = grouped_linear(x, weight, bias);
  if (const auto* path = std::get_if<InterGroupPath>(&exchange)) qkv = (*path)(x, qkv);
  const double scale = score_scale(), rate = training() ? options_.dropout : 0;
  const auto* talking = std::get_if<TalkingHeads>(&exchange);
  Tensor context = talking ? talking_self_attention(*talking, qkv, options_.num_kv_heads, scale, rate, options)
                           : self_attention(qkv, options_.num_heads, scale, rate, options);
  if (options_.exchange == GroupExchange::shuffle) context = shuffle_groups(context, options_.groups);
  if (const auto* tokens = std::get_if<TokensOverGroups>(&exchange)) context = (*tokens)(context);
  if (auto* dense = std::get_if<Linear>(&out)) return (*dense)(context);
  if (auto* grouped = std::get_if<GroupedLinear>(&out)) return (*grouped)(context);
  return context;
}

}  // namespace tutti::nn
