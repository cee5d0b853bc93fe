// The image transforms for a batch that lies on a GPU, by whole-batch operations: the same values as the loops over
// host memory give, bit for bit. What is drawn is drawn on the host, a few numbers per image.
#pragma once
#include <vector>

#include "tutti/core/number.h"
#include "tutti/nn/data/detail/images.h"

namespace tutti::data {

/// Image i moved by across[i] and down[i] pixels: y[r][c] = x[r - down][c - across], or fill.
Tensor shifted(const Tensor& x, const Images& n, const std::vector<int64_t>& across, const std::vector<int64_t>& down,
               Number fill);
/// Image i left to right if mirrored[i].
Tensor flipped(const Tensor& x, const Images& n, const std::vector<bool>& mirrored);
/// Image i read along a map about its centre (AffineMap), bilinearly; x is float32 or float64.
Tensor read_along(const Tensor& x, const Images& n, const std::vector<AffineMap>& maps, double fill);

}  // namespace tutti::data
