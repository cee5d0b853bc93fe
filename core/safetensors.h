// The safetensors file format: named tensors behind a JSON header. Everything is validated before memory is allocated;
// files are written under a temporary name and renamed.
#pragma once
#include <map>
#include <string>

#include "tutti/core/tensor.h"

#pragma GCC visibility push(default)
namespace tutti {

/// Tensors by name, on the default device unless said otherwise. IoError naming the file and the tensor: header length
/// beyond the file, offsets outside it or overlapping or with holes, a range that does not match shape and dtype, a
/// negative or overflowing shape, a duplicate key, an unknown dtype, truncated data, text that is not UTF-8. A file of
/// another format (PyTorch's, NumPy's, a zip archive, ..) is called by its name, with what to do. The index of a model
/// in several files (model.safetensors.index.json) loads them all. One tensor of a large file: safetensors_file.h.
std::map<std::string, Tensor> load_safetensors(const std::string& path, Device device = default_device());
/// The texts that were saved beside the tensors.
std::map<std::string, std::string> load_safetensors_metadata(const std::string& path);
/// From any device and any strides. ValueError on an undefined tensor and on names or metadata that are not
/// UTF-8; IoError if the file cannot be written (output_file.h says what becomes of an existing one).
void save_safetensors(const std::string& path, const std::map<std::string, Tensor>& tensors,
                      const std::map<std::string, std::string>& metadata = {});

}  // namespace tutti
#pragma GCC visibility pop
