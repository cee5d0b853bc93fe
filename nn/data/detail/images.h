// A batch of images as transforms see it.
#pragma once
#include "tutti/core/tensor.h"

namespace tutti::data {

/// [batch, height, width], or [batch, channels, height, width].
struct Images {
  int64_t batch, channels, height, width;
};
/// Where a pixel of an image is read, both counted from its centre: source = m (row, column) + t.
struct AffineMap {
  double m[2][2], t[2];
};

/// ValueError or ShapeError naming the transform unless x is a batch of images.
Images images_of(const char* transform, const Tensor& x);

}  // namespace tutti::data
