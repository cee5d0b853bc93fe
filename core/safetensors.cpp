#include "tutti/core/safetensors.h"

#include <algorithm>
#include <bit>

#include "tutti/core/detail/host_copy.h"
#include "tutti/core/detail/safetensors_header.h"
#include "tutti/core/detail/utf8.h"
#include "tutti/core/error.h"
#include "tutti/core/output_file.h"

namespace tutti {
namespace {

static_assert(std::endian::native == std::endian::little,
              "the file formats are read and written as they lie in memory");

using detail::printable;
using detail::SafetensorsHeader;

/// JSON is UTF-8: other readers refuse anything else, so it is not written either.
void check_text(const std::string& what, const std::string& text) {
  if (const size_t at = detail::invalid_utf8(text); at != text.npos)
    throw ValueError(message("save_safetensors: ", what, " '", printable(text), "' is not UTF-8 (byte ", at, ")"));
}

}  // namespace

void save_safetensors(const std::string& path, const std::map<std::string, Tensor>& tensors,
                      const std::map<std::string, std::string>& metadata) {
  // The widest elements first, so that all data is aligned.
  std::vector<std::pair<const std::string*, const Tensor*>> order;
  for (const auto& [name, tensor] : tensors) {
    if (!tensor.defined()) throw ValueError("save_safetensors: tensor '" + printable(name) + "' is undefined");
    check_text("the name", name);
    if (name == "__metadata__") throw ValueError("save_safetensors: a tensor cannot be called '__metadata__'");
    order.emplace_back(&name, &tensor);
  }
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return size_of(a.second->dtype()) > size_of(b.second->dtype());
  });

  for (const auto& [key, value] : metadata) {
    check_text("the metadata's key", key);
    check_text("the metadata's value", value);
  }

  SafetensorsHeader header{{}, metadata};
  uint64_t next = 0;
  for (const auto& [name, tensor] : order) {
    const auto dtype = tensor->dtype();
    const uint64_t end = next + static_cast<uint64_t>(tensor->numel()) * size_of(dtype);
    header.tensors.push_back(
        {*name, detail::safetensors_name(dtype), {tensor->shape().begin(), tensor->shape().end()}, next, end});
    next = end;
  }
  const std::string text = write_safetensors_header(header);
  const uint64_t length = text.size();
  if (length > detail::safetensors_header_limit)
    throw ValueError(message("save_safetensors: names and metadata take ", length, " bytes; at most ",
                             detail::safetensors_header_limit, " can be read again"));
  OutputFile file("save_safetensors", path);
  file.write(&length, 8);
  file.write(text.data(), text.size());
  for (const auto& [name, tensor] : order) {
    const HostCopy bytes(*tensor);
    file.write(bytes.data(), bytes.bytes());
  }
  file.commit();
}

}  // namespace tutti
