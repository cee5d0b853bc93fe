#include "grouped_vs_standard/study/attention_json.h"

namespace comparison {

using nlohmann::json;
using namespace tutti;

namespace {

json describe(const nn::MultiHeadAttentionOptions& o) {
  json j{{"kind", "standard"}, {"heads", o.num_heads}};
  put(j, "dropout", o.dropout, 0.0);
  return j;
}

/// An option with a name for each value.
template <class E>
void put_name(json& j, const char* name, E value, E usual) {
  if (value != usual) j[name] = nn::name_of(value);
}

json describe(const nn::GroupedMultiHeadAttentionOptions& o) {
  const nn::GroupedMultiHeadAttentionOptions usual;
  json j{{"kind", "grouped"}, {"groups", o.groups}};
  put(j, "heads", o.num_heads, usual.num_heads);
  put_name(j, "head_mode", o.head_mode, usual.head_mode);
  put(j, "kv_heads", o.num_kv_heads, usual.num_kv_heads);
  put(j, "inner_dim", o.inner_dim, usual.inner_dim);
  put_name(j, "scale", o.scale, usual.scale);
  put_name(j, "output", o.output, usual.output);
  put_name(j, "init", o.init, usual.init);
  put_name(j, "init_on", o.init_on, usual.init_on);
  put(j, "dropout", o.dropout, usual.dropout);
  put_name(j, "norm", o.norm, usual.norm);
  put(j, "group_dropout", o.group_dropout.rates, usual.group_dropout.rates);
  put(j, "whole_groups", o.group_dropout.whole_groups, usual.group_dropout.whole_groups);
  put_name(j, "exchange", o.exchange, usual.exchange);
  put(j, "dynamic", o.dynamic.candidates, usual.dynamic.candidates);
  if (o.sparsity.pattern != nn::Sparsity::dense) {
    j["sparsity"] = nn::name_of(o.sparsity.pattern);
    put(j, "block", o.sparsity.block, usual.sparsity.block);
    put(j, "window", o.sparsity.window, usual.sparsity.window);
    put(j, "stride", o.sparsity.stride, usual.sparsity.stride);
    put(j, "global", o.sparsity.global, usual.sparsity.global);
    put(j, "random", o.sparsity.random, usual.sparsity.random);
    put(j, "sparsity_seed", o.sparsity.seed, usual.sparsity.seed);
  }
  return j;
}

json describe(const examples::LoopedAttentionOptions& o) {
  return {{"kind", "looped"}, {"heads", o.num_heads}, {"groups", o.groups}};
}
json describe(const examples::LowRankAttentionOptions& o) {
  return {{"kind", "low_rank"}, {"heads", o.num_heads}, {"rank", o.rank}};
}
json describe(const examples::RandomMaskAttentionOptions& o) {
  return {{"kind", "random_mask"}, {"heads", o.num_heads}, {"groups", o.groups}};
}

}  // namespace

json json_of(const examples::AttentionChoice& attention) {
  return std::visit([](const auto& o) { return describe(o); }, attention);
}

}  // namespace comparison
