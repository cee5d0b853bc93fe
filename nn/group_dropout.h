// Dropout with a rate for each group of channels.
#pragma once
#include <vector>

#pragma GCC visibility push(default)
namespace tutti::nn {

struct GroupDropoutOptions {
  std::vector<double> rates{};  ///< one for each group, or one for all; none: no dropout. 0 <= rate < 1
  bool whole_groups = false;    ///< whole groups are dropped (never all of them) instead of elements
};

}  // namespace tutti::nn
#pragma GCC visibility pop
