// Which samples of a data set a seed trains on and which it tests on.
#pragma once
#include <cstdint>
#include <vector>

#include "grouped_vs_standard/tasks/task.h"

namespace comparison {

/// Positions of samples; no position is in both, nor twice in one.
struct Rows {
  std::vector<int64_t> train, test;
};

struct RowsOptions {
  int64_t test = 0;         ///< samples to test on
  int64_t train = 0;        ///< samples to train on; 0: all others
  bool stratified = false;  ///< classes in both parts in their proportions, as far as whole samples allow
};

/// How many of `samples` are trained on: spec.train, or else options.train, or else all that there are. ValueError
/// naming the task and the most that there are if spec.train is more.
int64_t training_size(int64_t samples, const TaskSpec& spec, const RowsOptions& options);

/// A random split of all samples. A test part of the same size is drawn in any case; with spec.validation it is left
/// alone, and a quarter of the others takes its place. Then training_size() of what is left. Depends on the labels, the
/// spec and the seed.
Rows random_rows(const tutti::Tensor& labels, const TaskSpec& spec, uint64_t seed, const RowsOptions& options);

/// The same where the test part is fixed: the last options.test samples.
Rows rows_before_last(const tutti::Tensor& labels, const TaskSpec& spec, uint64_t seed, const RowsOptions& options);

/// The samples at these positions: x along its first axis, y the labels.
Sample samples_at(const tutti::Tensor& x, const tutti::Tensor& y, const Rows& rows);

/// The permutation of `n` features or positions that spec.shuffled asks for (int64 [n]): always the same one.
tutti::Tensor fixed_permutation(int64_t n);

}  // namespace comparison
