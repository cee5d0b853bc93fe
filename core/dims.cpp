#include "tutti/core/dims.h"

#include "tutti/core/error.h"

namespace tutti {

void Dims::push(int64_t x) {
  if (n == max_rank) throw ShapeError("a tensor has at most 8 dimensions");
  v[n++] = x;
}

Dims contiguous_strides(const Dims& shape) {
  Dims strides = shape;
  int64_t step = 1;
  for (int i = shape.n - 1; i >= 0; --i) {
    strides[i] = step;
    step *= shape[i];
  }
  return strides;
}

std::string to_string(const Dims& d) {
  std::string s = "[";
  for (int i = 0; i < d.n; ++i) s += (i ? ", " : "") + std::to_string(d[i]);
  return s + "]";
}

}  // namespace tutti
