// The corrected resampled t test: small data sets, split again and again into training and test part.
#pragma once
#include <cstdint>
#include <vector>

#include "grouped_vs_standard/statistics/interval.h"

namespace comparison {

struct CorrectedT {
  Interval interval;
  double t = 0, p = 1;  ///< p: two-sided, that the mean difference is 0
};

/// differences[k]: one per split, of models trained on `train` and tested on `test` samples. The splits overlap, so the
/// variance of their mean is (1/k + test/train) s^2 instead of s^2 / k; k - 1 degrees of freedom (Nadeau & Bengio 2003,
/// "Inference for the generalization error", eq. 22). Fewer than two splits: ValueError.
CorrectedT nadeau_bengio(const std::vector<double>& differences, int64_t train, int64_t test);

}  // namespace comparison
