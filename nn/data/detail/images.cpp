#include "tutti/nn/data/detail/images.h"

#include "tutti/core/error.h"

namespace tutti::data {

Images images_of(const char* transform, const Tensor& x) {
  if (!x.defined()) throw ValueError(message(transform, ": the batch is undefined"));
  if (x.rank() != 3 && x.rank() != 4)
    throw ShapeError(message(transform, ": shape ", x.shape(), " is neither [B, H, W] nor [B, C, H, W]"));
  return {x.size(0), x.rank() == 4 ? x.size(1) : 1, x.size(-2), x.size(-1)};
}

}  // namespace tutti::data
