// Accuracy against the learning rate, tuned on validation images: where each arm's optimum lies.
#pragma once
#include "grouped_vs_standard/claims/base.h"

namespace comparison {

struct RateSweep {
  std::vector<double> rates{};
  std::vector<std::vector<double>> accuracy[2]{};  ///< [arm][rate][seed], percent, of validation images
  Interval log2_ratio{};                           ///< log2(optimum of grouped / optimum of standard), over seeds
};

/// 7x7 patches, 400 steps, seven rates a factor of 2 apart from 5e-4. The optimum is the top of the parabola through
/// the best rate and its neighbours (in log2 of the rate), of the mean over seeds; the interval is a bootstrap over
/// seeds.
RateSweep rate_sweep(Lab& lab, int64_t k);

/// The optimum of mean accuracies by rate; positions count in steps of one factor of 2.
double optimum(const std::vector<double>& mean_by_rate);

Figure picture_of(const RateSweep& sweep);

}  // namespace comparison
