#include "tutti/nn/attention/detail/exchange_options.h"

#include "tutti/core/error.h"

namespace tutti::nn {
namespace {

using Options = GroupedMultiHeadAttentionOptions;
constexpr const char* layer = "GroupedMultiHeadAttention";

void refuse_if(bool wrong, const Options& o, const std::string& why) {
  if (wrong) throw ValueError(message(layer, ": exchange = ", name_of(o.exchange), " ", why));
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
  refuse_if(o.head_mode == HeadMode::literal && o.groups > 1, o,
            "runs each group's own heads, and head_mode = literal has one for all; head_mode = heads fits");
  refuse_if(o.num_heads % o.groups != 0, o,
            message("runs each group's own heads, and groups = ", o.groups,
                    " does not divide num_heads = ", o.num_heads, "; num_heads = ", o.groups, " (or 0) fits"));
  refuse_if(o.num_kv_heads != o.num_heads, o,
            message("projects each group's q, k and v at once, but num_kv_heads = ", o.num_kv_heads,
                    " makes k and v narrower; num_kv_heads = 0 fits"));
  refuse_if(o.inner_dim != o.embed_dim, o,
            message("adds a group's result to the next one's input, so their widths must agree; inner_dim = ",
                    o.embed_dim, " (or 0) fits, not ", o.inner_dim));
  refuse_if(o.norm == ProjectionNorm::full, o,
            "has the groups one after another, so norm = full cannot span them; per_group fits");
}

}  // namespace

bool heads_fit(int64_t heads, int64_t groups) { return heads % groups == 0 || groups % heads == 0; }

void check_exchange(const Options& o) {
  if (o.exchange == GroupExchange::inter_group) check_inter_group(o);
  if (o.exchange == GroupExchange::talking_heads) check_talking_heads(o);
  if (o.exchange == GroupExchange::cascade) check_cascade(o);
}

void check_dynamic_groups(const Options& o) {
  if (o.dynamic.candidates.empty()) return check_temperature(layer, o.dynamic);
  check_dynamic(layer, o.dynamic, {"embed_dim", o.embed_dim}, {"inner_dim", o.inner_dim});
  const int64_t most = o.dynamic.candidates.back();
  for (int64_t g : o.dynamic.candidates)
    if (!heads_fit(o.num_heads, g))
      throw ValueError(message(layer, ": dynamic.candidates: ", g,
                               " is neither a multiple nor a divisor of num_heads = ", o.num_heads,
                               "; num_heads = ", most,
                               heads_fit(most, o.groups) ? "" : message(" with groups = ", most), " fits all of them"));
  const auto refuse = [](bool wrong, const char* option, const char* value, const char* why) {
    if (wrong) throw ValueError(message(layer, ": ", option, " = ", value, " with dynamic.candidates: ", why));
  };
  const bool own_paths = o.exchange == GroupExchange::inter_group || o.exchange == GroupExchange::cascade;
  refuse(own_paths, "exchange", name_of(o.exchange),
         "it needs the same groups for every sample; none, shuffle, talking_heads or tokens_over_groups fits");
  refuse(o.init != InitSchedule::constant, "init", name_of(o.init),
         "its gains are for groups that do not change; constant fits");
  refuse(o.num_kv_heads != o.num_heads, "num_kv_heads", message(o.num_kv_heads).c_str(),
         "q, k and v have one weight of one width; 0 fits");
}

}  // namespace tutti::nn
