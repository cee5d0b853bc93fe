// A batch of images as transforms see it.
#pragma once
#include "tutti/core/tensor.h"

namespace tutti::data {

/// [batch, height, width], or [batch, channels, height, width].
struct Images {
  int64_t batch, channels, height, width;
};
/// ValueError, ShapeError or DeviceError naming the transform unless x is a batch of images on the CPU.
Images images_of(const char* transform, const Tensor& x);

}  // namespace tutti::data
