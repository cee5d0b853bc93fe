// The name that was probably meant.
#pragma once
#include <string>
#include <vector>

#pragma GCC visibility push(default)
namespace tutti::detail {

/// Of `names` the one that fewest insertions, deletions and exchanges of characters make `name`; empty if that takes
/// more than a third of its characters (2 at least). Names of more than 200 bytes are near to nothing.
std::string near_name(const std::string& name, const std::vector<std::string>& names);

}  // namespace tutti::detail
#pragma GCC visibility pop
