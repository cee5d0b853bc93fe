// Which operations `tutti-bench kernels` times, on which sizes.
#pragma once
#include <vector>

#include "bench/operations.h"

namespace bench {

/// Every family of kernels, forward and with gradients, on sizes of models.
std::vector<Case> usual_cases();
/// Sizes that no register divides (1, 7, 31, 33, 1000, 4099 columns), first axes, transposed inputs.
std::vector<Case> odd_cases();
/// The same with no size above `most`: for tests.
std::vector<Case> shrunk(const std::vector<Case>& cases, int64_t most);

}  // namespace bench
