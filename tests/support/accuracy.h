// Accuracy of elementwise functions in units in the last place, over a sweep of all magnitudes.
#pragma once
#include <cmath>
#include <string>

#include "tutti/core/tensor.h"

namespace tutti_test {

/// CHECKs that op is within `ulps` units in the last place of the exact value, in float32 and float64, for numbers of
/// every magnitude and sign in [low, high], dense ones around 0, subnormals, the largest, infinities and NaN.

void check_ulps(const std::string& name, tutti::Tensor (*op)(const tutti::Tensor&), long double (*exact)(long double),
                double ulps, double low = -INFINITY, double high = INFINITY);

}  // namespace tutti_test
