// NumPy's .npy files: one array each. Validated before memory is allocated; written under a temporary name and renamed.
#pragma once
#include <string>

#include "tutti/core/tensor.h"

#pragma GCC visibility push(default)
namespace tutti {

/// On the default device unless said otherwise. Versions 1 to 3, little-endian, C or Fortran order; float32, float64,
/// float16, int64, int32, uint8, bool. IoError naming the file for anything else, and for a size that the header does
/// not explain.
Tensor load_npy(const std::string& path, Device device = default_device());
/// From any device and any strides. DTypeError for bfloat16, which NumPy does not have.
void save_npy(const std::string& path, const Tensor& x);

}  // namespace tutti
#pragma GCC visibility pop
