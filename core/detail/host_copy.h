// Between tensors on any device and plain bytes in host memory, row-major: for files, printing and to_vector.
#pragma once
#include <cstddef>
#include <vector>

#include "tutti/core/tensor.h"

#pragma GCC visibility push(default)
namespace tutti {

/// Copies only if it must: a contiguous CPU tensor is looked at where it is, and kept alive meanwhile.
class HostCopy {
 public:
  explicit HostCopy(const Tensor& x);
  const char* data() const { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  Tensor keep_;
  std::vector<char> copy_;
  const char* data_ = nullptr;
  size_t bytes_ = 0;
};

/// What was written in host memory (a contiguous CPU output), as a tensor on a device; without a copy if that is the
/// CPU.
Tensor placed(const Output& host, Device device);

/// Calls f(offset) with every element's offset from the first one, in row-major order (in elements).
template <class F>
void for_each_offset(const Dims& shape, const Dims& strides, F&& f) {
  const int64_t count = shape.product();
  Dims index = shape;
  for (int i = 0; i < index.n; ++i) index[i] = 0;
  int64_t at = 0;
  for (int64_t k = 0; k < count; ++k) {
    f(at);
    for (int i = shape.n - 1; i >= 0; --i) {
      at += strides[i];
      if (++index[i] < shape[i]) break;
      at -= index[i] * strides[i];
      index[i] = 0;
    }
  }
}

}  // namespace tutti
#pragma GCC visibility pop
