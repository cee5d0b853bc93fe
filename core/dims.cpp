#include "tutti/core/dims.h"

#include "tutti/core/error.h"

namespace tutti {

void Dims::push(int64_t x) {
  if (n == max_rank) throw ShapeError("a tensor has at most 8 dimensions");
  v[n++] = x;
}

bool fits_memory(const Dims& shape, size_t element) {
  size_t bytes = element;
  for (int64_t n : shape)
    if (n > 0 && (__builtin_mul_overflow(bytes, static_cast<size_t>(n), &bytes) || bytes > size_t{1} << 62))
      return false;
  return true;
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
