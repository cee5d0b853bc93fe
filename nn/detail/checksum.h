// The CRC-32 (zlib's) of tensors and texts with their names: whatever a file says of them.
#pragma once
#include <cstdint>
#include <map>
#include <string>

#include "tutti/core/tensor.h"

#pragma GCC visibility push(default)
namespace tutti::nn::detail {

class Checksum {
 public:
  explicit Checksum(const std::map<std::string, std::string>& texts);
  /// Name, dtype, shape and values. In the order of their names.
  void add(const std::string& name, const Tensor& t);
  std::string text() const;  ///< eight hexadecimal digits

 private:
  void add(const std::string& text);
  uint64_t value_ = 0;
};

}  // namespace tutti::nn::detail
#pragma GCC visibility pop
