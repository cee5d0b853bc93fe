#include "tutti/nn/exchange_options.h"

#include "tutti/core/error.h"

namespace tutti::nn {
namespace {

using Options = GroupedMultiHeadAttentionOptions;

void refuse_if(bool wrong, const Options& o, const std::string& why) {
  if (wrong) throw ValueError(message("GroupedMultiHeadAttention: exchange = ", name_of(o.exchange), " ", why));
}

void check_inter_group(const Options& o) {
  refuse_if(o.num_kv_heads != o.num_heads, o,
            message("adds one width to q, k and v, but num_kv_heads = ", o.num_kv_heads, " makes k and v narrower; ",
                    "num_kv_heads = 0 fits"));
}

void check_talking_heads(const Options& o) {
  refuse_if(o.head_mode == HeadMode::literal, o,
            "mixes heads, and head_mode = literal has one; head_mode = heads fits");
  const Sparsity pattern = o.sparsity.pattern;
  refuse_if(pattern != Sparsity::dense && pattern != Sparsity::sliding_window, o,
            message("computes all scores, so sparsity = ", name_of(pattern),
                    " would save nothing; dense or sliding_window fits"));
}

void check_cascade(const Options& o) {
  refuse_if(o.num_heads % o.groups != 0, o,
            message("runs each group's own heads, and groups = ", o.groups,
                    " does not divide num_heads = ", o.num_heads, "; num_heads = ", o.groups, " (or 0) fits"));
  refuse_if(o.num_kv_heads % o.groups != 0, o,
            message("runs each group's own heads, and groups = ", o.groups,
                    " does not divide num_kv_heads = ", o.num_kv_heads, "; num_kv_heads = ", o.groups, " fits"));
  refuse_if(o.inner_dim != o.embed_dim, o,
            message("adds a group's result to the next one's input, so their widths must agree; inner_dim = ",
                    o.embed_dim, " (or 0) fits, not ", o.inner_dim));
  refuse_if(o.norm == ProjectionNorm::full, o,
            "has the groups one after another, so norm = full cannot span them; per_group fits");
}

}  // namespace

void check_exchange(const Options& o) {
  if (o.exchange == GroupExchange::inter_group) check_inter_group(o);
  if (o.exchange == GroupExchange::talking_heads) check_talking_heads(o);
  if (o.exchange == GroupExchange::cascade) check_cascade(o);
}

}  // namespace tutti::nn
