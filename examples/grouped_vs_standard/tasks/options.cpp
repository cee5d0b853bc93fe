#include "grouped_vs_standard/tasks/options.h"

#include <algorithm>

#include "tutti/core/error.h"

namespace comparison {

using tutti::message;
using tutti::ValueError;

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "'" : i + 1 == names.size() ? " or '" : ", '") + names[i] + "'";
  return text;
}

void check(const TaskSpec& s, const Accepts& accepts) {
  const auto number = [&](const char* option, int64_t value, bool accepted) {
    if (value < 0)
      throw ValueError(
          message("task ", s.name, ": ", option, " is ", value, "; it must be positive, or 0 for the default"));
    if (value > 0 && !accepted)
      throw ValueError(
          message("task ", s.name, ": ", option, " is ", value, ", but this task has none; leave it at 0"));
  };
  number("train", s.train, true);
  number("test", s.test, true);
  number("patch", s.patch, accepts.patch);
  number("length", s.length, accepts.length);
  if (s.shuffled && !accepts.shuffled)
    throw ValueError(message("task ", s.name, ": shuffled is set, but this task has no shuffled form"));
  if (std::find(accepts.variants.begin(), accepts.variants.end(), s.variant) == accepts.variants.end())
    throw ValueError(message("task ", s.name, ": variant '", s.variant, "' is none of ", listed(accepts.variants)));
}

}  // namespace comparison
