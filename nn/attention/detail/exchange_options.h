// For nn/attention/grouped_options.cpp: which options of the grouped layer go with an exchange between groups and with
// dynamic groups.
#pragma once
#include "tutti/nn/attention/grouped_options.h"

namespace tutti::nn {

/// Whether no head lies across a group's edge halfway: one of the numbers is a multiple of the other.
bool heads_fit(int64_t heads, int64_t groups);
/// ValueError naming the exchange, the option that does not go with it, and what fits. Takes resolved options.
void check_exchange(const GroupedMultiHeadAttentionOptions& options);
/// The same for dynamic groups, whose candidates must fit widths and heads; of their options only the temperature is
/// checked if there are none.
void check_dynamic_groups(const GroupedMultiHeadAttentionOptions& options);

}  // namespace tutti::nn
