#include "tutti/nn/attention/grouped_options.h"

#include "tutti/core/error.h"
#include "tutti/nn/attention/detail/exchange_options.h"
#include "tutti/nn/option.h"

namespace tutti::nn {
namespace {

using Options = GroupedMultiHeadAttentionOptions;
constexpr const char* layer = "GroupedMultiHeadAttention";

void check_heads_fit(const char* option, int64_t heads, int64_t groups, const char* what_fits) {
  if (!heads_fit(heads, groups))
    throw ValueError(message(layer, ": ", option, " = ", heads, " is neither a multiple nor a divisor of groups = ",
                             groups, "; ", option, " = ", groups, what_fits));
}

void resolve_heads(Options& o) {
  if (o.num_heads < 0) check_positive(layer, "num_heads", o.num_heads);
  if (o.head_mode == HeadMode::literal)
    o.num_heads = 1;
  else if (o.num_heads == 0)
    o.num_heads = o.groups;
  const bool own_width = o.inner_dim != 0;
  if (!own_width) o.inner_dim = o.embed_dim;
  const char* width = own_width ? "inner_dim" : "embed_dim";
  check_positive(layer, width, o.inner_dim);
  if (own_width) {
    const bool by_head = o.num_heads > o.groups && heads_fit(o.num_heads, o.groups);
    check_multiple(layer, width, o.inner_dim, "groups", o.groups, by_head ? o.num_heads : o.groups);
  }
  check_divides(layer, "num_heads", o.num_heads, width, o.inner_dim,
                {message("fit groups = ", o.groups), [&](int64_t n) { return heads_fit(n, o.groups); }});
  check_heads_fit("num_heads", o.num_heads, o.groups, " (or 0) gives each group one head");
}

void resolve_kv_heads(Options& o) {
  if (o.head_mode == HeadMode::literal && o.num_kv_heads > 1)
    throw ValueError(message(layer, ": num_kv_heads = ", o.num_kv_heads,
                             " with head_mode literal, whose single map has one head; 0 or 1 fits"));
  if (o.num_kv_heads == 0) o.num_kv_heads = o.num_heads;
  const int64_t width = o.inner_dim / o.num_heads;
  check_divides(layer, "num_kv_heads", o.num_kv_heads, "num_heads", o.num_heads,
                {message("fit groups = ", o.groups),
                 [&](int64_t n) { return heads_fit(n, o.groups) && n * width % o.groups == 0; }});
  if (o.num_kv_heads == o.num_heads) return;
  check_heads_fit("num_kv_heads", o.num_kv_heads, o.groups, " gives each group one; 0 means num_heads");
  if (o.num_kv_heads * width % o.groups != 0)
    throw ValueError(message(layer, ": num_kv_heads = ", o.num_kv_heads, " heads of width ", width, " are ",
                             o.num_kv_heads * width, " channels, which groups = ", o.groups,
                             " does not divide; 0, which means num_heads, always fits"));
}

void check_output(const Options& o) {
  if (o.output == OutputProjection::none && o.inner_dim != o.embed_dim)
    throw ValueError(message(layer, ": output = none gives inner_dim = ", o.inner_dim,
                             " channels instead of embed_dim = ", o.embed_dim,
                             "; inner_dim = 0, or output = dense or grouped, fits"));
}

void check_norm(const Options& o) {
  check_eps(layer, "norm_eps", o.norm_eps);
  const int64_t parts = o.norm == ProjectionNorm::per_group ? o.groups : 1;
  if (o.norm == ProjectionNorm::none) return;
  const int64_t kv = o.inner_dim / o.num_heads * o.num_kv_heads;
  const bool cascade = o.exchange == GroupExchange::cascade;
  const char* const wider = !cascade && o.output != OutputProjection::none ? "a larger inner_dim, or "
                            : parts > 1                                    ? "fewer groups, or "
                                                                           : "";
  for (const auto& [what, width] : {std::pair{"q", o.inner_dim / parts}, {"k", kv / parts}})
    if (width < 2)
      throw ValueError(message(layer, ": norm = ", name_of(o.norm), " over one channel of ", what,
                               " would leave nothing of it; at least 2 (", wider,
                               "norm = ", parts > 1 && !cascade ? "full" : "none", ") fit"));
}

}  // namespace

Options checked(Options o) {
  check_positive(layer, "embed_dim", o.embed_dim);
  check_divides(layer, "groups", o.groups, "embed_dim", o.embed_dim);
  resolve_heads(o);
  resolve_kv_heads(o);
  check_output(o);
  check_norm(o);
  check_probability(layer, "dropout", o.dropout);
  check_group_dropout(message(layer, ": group_dropout."), o.group_dropout, o.groups);
  check_sparsity(layer, o.sparsity);
  check_exchange(o);
  check_dynamic_groups(o);
  return o;
}

}  // namespace tutti::nn
