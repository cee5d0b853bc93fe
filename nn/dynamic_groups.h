// A projection whose number of groups is chosen by each sample's content.
#pragma once
#include <cstdint>
#include <vector>

#pragma GCC visibility push(default)
namespace tutti::nn {

struct DynamicGroupsOptions {
  std::vector<int64_t> candidates{};  ///< numbers of groups to choose from, each dividing the next: {1, 2, 4, 8}
  double temperature = 1;             ///< of the gate's softmax
};

}  // namespace tutti::nn
#pragma GCC visibility pop
