// What a task accepts of its spec: everything else is an error instead of being ignored.
#pragma once
#include <vector>

#include "grouped_vs_standard/tasks/task.h"

namespace comparison {

struct Accepts {
  std::vector<std::string> variants{""};
  bool patch = false, length = false, shuffled = false;
};

/// ValueError naming the task, the option, its value and what would fit, where the spec sets an option that the task
/// does not have, a negative number or an unknown variant.
void check(const TaskSpec& spec, const Accepts& accepts);

/// "a", "b" or "c", for error messages.
std::string listed(const std::vector<std::string>& names);

}  // namespace comparison
