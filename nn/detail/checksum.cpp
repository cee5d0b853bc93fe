#include "tutti/nn/detail/checksum.h"

#include <zlib.h>

#include <cstdio>

#include "tutti/core/detail/host_copy.h"
#include "tutti/core/error.h"

namespace tutti::nn::detail {

Checksum::Checksum(const std::map<std::string, std::string>& texts) {
  for (const auto& [key, value] : texts) {
    add(key);
    add(value);
  }
}

void Checksum::add(const std::string& text) {
  const std::string whole = message(text.size(), ":", text);  // so that no two lists of texts read alike
  value_ = crc32_z(value_, reinterpret_cast<const Bytef*>(whole.data()), whole.size());
}

void Checksum::add(const std::string& name, const Tensor& t) {
  add(name);
  add(message(t.dtype(), t.shape()));
  const HostCopy bytes(t);
  value_ = crc32_z(value_, reinterpret_cast<const Bytef*>(bytes.data()), bytes.bytes());
}

std::string Checksum::text() const {
  char digits[9];
  std::snprintf(digits, sizeof digits, "%08x", static_cast<unsigned>(value_));
  return digits;
}

}  // namespace tutti::nn::detail
