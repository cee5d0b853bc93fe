#include "tutti/nn/data/idx.h"

#include <cstring>

#include "tutti/core/detail/foreign_format.h"
#include "tutti/core/detail/host_copy.h"
#include "tutti/core/error.h"
#include "tutti/nn/data/detail/gz_file.h"

namespace tutti::data {
namespace {

uint32_t big_endian(const char* p) {
  uint32_t x = 0;
  for (int i = 0; i < 4; ++i) x = x << 8 | static_cast<unsigned char>(p[i]);
  return x;
}

struct Element {
  DType dtype;
  bool known = true;
};
Element element_of(unsigned char code) {
  switch (code) {
    case 0x08:
      return {DType::uint8};
    case 0x0C:
      return {DType::int32};
    case 0x0D:
      return {DType::float32};
    case 0x0E:
      return {DType::float64};
    default:
      return {DType::uint8, false};
  }
}

}  // namespace

Tensor read_idx(const std::string& path, Device device) {
  (void)backend(device);  // an error before the work
  GzFile file("read_idx", path);
  const std::string magic = file.read(4);
  if (magic.size() < 4 || magic[0] != 0 || magic[1] != 0) {
    const std::string format = detail::foreign_format(magic + file.read(508));
    file.fail("is not an IDX file " + (format.empty() ? "(it does not begin with two zero bytes)" : "but " + format));
  }
  const auto code = static_cast<unsigned char>(magic[2]), rank = static_cast<unsigned char>(magic[3]);
  const auto [dtype, known] = element_of(code);
  if (!known)
    file.fail(message("IDX element type ", int{code},
                      " is not supported (8: uint8, 12: int32, 13: float32, 14: float64 are)"));
  if (rank < 1 || rank > Dims::max_rank)
    file.fail(message("an IDX file of ", int{rank}, " axes; 1 to ", Dims::max_rank, " are supported"));

  const std::string sizes = file.read(size_t{4} * rank);
  if (sizes.size() < size_t{4} * rank) file.fail("ends within its list of sizes");
  Dims shape;
  for (int i = 0; i < rank; ++i) shape.push(big_endian(sizes.data() + 4 * i));
  const bool fits = fits_memory(shape, size_of(dtype));
  const uint64_t bytes = fits ? static_cast<uint64_t>(shape.product()) * size_of(dtype) : 0;
  if (!fits || bytes > file.most_bytes())
    file.fail(message("claims shape ", shape, " of ", dtype, ", more than the file can hold"));

  const std::string data = file.read(bytes + 1);
  if (data.size() < bytes)
    file.fail(message("shape ", shape, " of ", dtype, " needs ", bytes, " bytes of data, but there are ", data.size()));
  if (data.size() > bytes)
    file.fail(message("has more data than the ", bytes, " bytes of shape ", shape, " of ", dtype));

  const Output y = output(shape, dtype, cpu);
  char* to = y.data<char>();
  const size_t width = size_of(dtype);
  if (width == 1) {
    if (bytes) std::memcpy(to, data.data(), bytes);
  } else {
    for (size_t at = 0; at < bytes; at += width)  // the last byte of each element comes first
      for (size_t i = 0; i < width; ++i) to[at + i] = data[at + width - 1 - i];
  }
  return placed(y, device);
}

}  // namespace tutti::data
