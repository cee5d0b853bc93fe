// For the layers' own files: the channels of [.., C] seen as groups.
#pragma once
#include "tutti/ops/shape.h"

namespace tutti::nn {

/// x [.., C] as [.., parts...], the product of `parts` being C; a view where strides allow.
inline Tensor split_channels(const Tensor& x, std::initializer_list<int64_t> parts) {
  Dims shape;
  for (int i = 0; i + 1 < x.rank(); ++i) shape.push(x.shape()[i]);
  for (int64_t part : parts) shape.push(part);
  return reshape(x, shape);
}

}  // namespace tutti::nn
