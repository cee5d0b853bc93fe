// Files: safetensors and NumPy's .npy. Everything read is validated before memory is allocated; files are written under
// a temporary name and renamed.
#pragma once
#include <map>
#include <string>

#include "tutti/core/tensor.h"

#pragma GCC visibility push(default)
namespace tutti {

/// IoError naming the file and the key: header length beyond the file, offsets outside it or overlapping or with holes,
/// a range that does not match shape and dtype, a negative or overflowing shape, a duplicate key, an unknown dtype,
/// truncated data.
std::map<std::string, Tensor> load_safetensors(const std::string& path);
void save_safetensors(const std::string& path, const std::map<std::string, Tensor>& tensors,
                      const std::map<std::string, std::string>& metadata = {});

/// Versions 1 to 3, little-endian, C or Fortran order; float32, float64, float16, int64, int32, uint8, bool.
Tensor load_npy(const std::string& path);
void save_npy(const std::string& path, const Tensor& x);

}  // namespace tutti
#pragma GCC visibility pop
