// For nn/grouped_options.cpp: which options of the grouped layer go with which exchange between groups.
#pragma once
#include "tutti/nn/grouped_options.h"

namespace tutti::nn {

/// ValueError naming the exchange, the option that does not go with it, and what fits. Takes resolved options.
void check_exchange(const GroupedMultiHeadAttentionOptions& options);

}  // namespace tutti::nn
