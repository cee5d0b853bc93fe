// Tasks on tables of measurements: a family of measurements is a token.
#pragma once
#include <string>
#include <vector>

#include "grouped_vs_standard/tasks/rows.h"
#include "grouped_vs_standard/tasks/task.h"

namespace comparison {

struct Measurements {
  std::string file;               ///< of data/
  int64_t rows = 0, classes = 0;  ///< what it must hold
  std::vector<int64_t> families;  ///< sizes; the file's columns are in this order
  int64_t unused = 0;             ///< columns behind the families and before the class
  RowsOptions split{};
  std::string source;
};

/// A random split per seed; missing values and scales from its training part (table.h). spec.shuffled deals the
/// measurements to the families by one fixed permutation. ValueError if the spec sets what such a task has not.
Task measurements_task(const TaskSpec& spec, const Measurements& what);

}  // namespace comparison
