// Why a state does not fit a module, in a few lines.
#pragma once
#include <string>
#include <vector>

#include "tutti/core/dims.h"

#pragma GCC visibility push(default)
namespace tutti::nn::detail {

struct Differences {
  struct OtherShape {
    std::string name;
    Dims module, state;
  };
  std::vector<std::string> missing, unexpected;  // that are not allowed
  std::vector<OtherShape> shapes;
  std::vector<std::string> unreadable;  // names, each with why
  bool any() const { return !missing.empty() || !unexpected.empty() || !shapes.empty() || !unreadable.empty(); }
};

/// "\n  missing: ..." and so on: a few names of each kind with the names that were meant, and the prefix that all lack.
std::string describe(const Differences& differences);

}  // namespace tutti::nn::detail
#pragma GCC visibility pop
