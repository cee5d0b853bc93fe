// Several tests at once.
#pragma once
#include <vector>

namespace comparison {

/// p values adjusted by Holm's step-down method (1979), in the order given: the i-th smallest of m (from 0) becomes the
/// maximum over the smaller ones of (m - j) p_j, at most 1; as R's p.adjust(p, "holm"). ValueError for a p outside
/// [0, 1].
std::vector<double> holm(const std::vector<double>& p);

}  // namespace comparison
