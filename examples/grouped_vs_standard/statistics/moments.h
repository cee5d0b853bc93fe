// Mean, deviation and median of a list; no list may be empty (ValueError).
#pragma once
#include <vector>

namespace comparison {

double mean(const std::vector<double>& x);
double standard_deviation(const std::vector<double>& x);  ///< divisor n - 1; 0 for one value
double median(std::vector<double> x);

}  // namespace comparison
