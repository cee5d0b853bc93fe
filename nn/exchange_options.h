// For nn/grouped_options.cpp: which options of the grouped layer go with an exchange between groups and with dynamic
// groups.
#pragma once
#include "tutti/nn/grouped_options.h"

namespace tutti::nn {

/// ValueError naming the exchange, the option that does not go with it, and what fits. Takes resolved options.
void check_exchange(const GroupedMultiHeadAttentionOptions& options);
/// The same for dynamic groups, whose candidates must fit widths and heads; nothing if there are none.
void check_dynamic_groups(const GroupedMultiHeadAttentionOptions& options);

}  // namespace tutti::nn
