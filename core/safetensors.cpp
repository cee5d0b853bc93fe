#include "tutti/core/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>

#include "tutti/core/detail/file.h"
#include "tutti/core/detail/foreign_format.h"
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
using Entry = SafetensorsHeader::Entry;

constexpr uint64_t header_limit = 100'000'000;  // as in the reference implementation

struct Name {
  const char* text;
  DType dtype;
};
constexpr std::array<Name, 8> names{{{"F32", DType::float32},
                                     {"F64", DType::float64},
                                     {"BF16", DType::bfloat16},
                                     {"F16", DType::float16},
                                     {"I64", DType::int64},
                                     {"I32", DType::int32},
                                     {"U8", DType::uint8},
                                     {"BOOL", DType::boolean}}};

struct Place {
  Dims shape;
  DType dtype;
};

/// Checks one entry by itself.
Place place_of(const Entry& e, const detail::InputFile& file) {
  const auto fail = [&](const std::string& what) { file.fail("tensor '" + printable(e.name) + "': " + what); };
  const auto* name = std::find_if(names.begin(), names.end(), [&](const Name& n) { return e.dtype == n.text; });
  if (name == names.end()) fail("unknown dtype '" + printable(e.dtype) + "'");
  if (e.shape.size() > Dims::max_rank) fail(message(e.shape.size(), " dimensions, at most 8 are possible"));
  Place p{{}, name->dtype};
  for (int64_t n : e.shape) p.shape.push(n);
  if (!fits_memory(p.shape, size_of(p.dtype))) fail(message("shape ", p.shape, " is too large"));
  const auto bytes = static_cast<uint64_t>(p.shape.product()) * size_of(p.dtype);
  if (e.begin > e.end || e.end - e.begin != bytes)
    fail(message("bytes ", e.begin, " to ", e.end, " do not hold shape ", p.shape, " of ", e.dtype, " (", bytes,
                 " bytes)"));
  return p;
}

/// A file that does not begin as one of this format may well be one of another.
[[noreturn]] void fail_start(const detail::InputFile& file, const std::string& what) {
  const std::string format = detail::foreign_format(file.start());
  const bool other = !format.empty() && !format.starts_with("a safetensors file");  // (a damaged one is no other)
  file.fail(other ? "is no safetensors file but " + format : what);
}

/// JSON is UTF-8: other readers refuse anything else, so it is not written either.
void check_text(const std::string& what, const std::string& text) {
  if (const size_t at = detail::invalid_utf8(text); at != text.npos)
    throw ValueError(message("save_safetensors: ", what, " '", printable(text), "' is not UTF-8 (byte ", at, ")"));
}

/// Reads and checks everything but the data; `data_begin` is where that starts.
SafetensorsHeader read_header(const detail::InputFile& file, const std::string& path, uint64_t& data_begin) {
  if (file.size() < 8) fail_start(file, message("too short for a header (", file.size(), " bytes)"));
  uint64_t length = 0;
  file.read(&length, 8, 0);
  if (length > header_limit || length > file.size() - 8)
    fail_start(file, message("header of ", length, " bytes in a file of ", file.size()));
  std::string text(static_cast<size_t>(length), '\0');
  file.read(text.data(), text.size(), 8);
  if (const size_t first = text.find_first_not_of(" \t\r\n"); first != text.npos && text[first] != '{')
    fail_start(file, message("header, byte ", first, ": expected '{'"));
  data_begin = 8 + length;
  return detail::parse_safetensors_header("load_safetensors: " + path, text);
}

}  // namespace

std::map<std::string, Tensor> load_safetensors(const std::string& path, Device device) {
  (void)backend(device);  // an error before the work
  const detail::InputFile file("load_safetensors", path);
  uint64_t data_begin = 0;
  SafetensorsHeader header = read_header(file, path, data_begin);
  const uint64_t data_bytes = file.size() - data_begin;

  auto& entries = header.tensors;
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.begin != b.begin ? a.begin < b.begin : a.end < b.end; });
  std::vector<Place> places;
  uint64_t next = 0;
  for (const Entry& e : entries) {
    places.push_back(place_of(e, file));
    if (e.end > data_bytes)
      file.fail(message("tensor '", printable(e.name), "': bytes ", e.begin, " to ", e.end, " of only ", data_bytes));
    if (e.begin != next)
      file.fail(message("tensor '", printable(e.name), "': begins at byte ", e.begin,
                        e.begin < next ? ", inside" : ", not at", " the end of the one before it at ", next));
    next = e.end;
  }
  if (next != data_bytes) file.fail(message(data_bytes - next, " bytes belong to no tensor"));

  std::map<std::string, Tensor> tensors;
  for (size_t i = 0; i < entries.size(); ++i) {
    const Output y = output(places[i].shape, places[i].dtype, cpu);
    const auto bytes = static_cast<size_t>(entries[i].end - entries[i].begin);
    file.read(y.data(), bytes, data_begin + entries[i].begin);
    if (y.dtype() == DType::boolean)
      if (const auto* p = static_cast<const uint8_t*>(y.data());
          std::any_of(p, p + bytes, [](uint8_t b) { return b > 1; }))
        file.fail("tensor '" + printable(entries[i].name) + "': a bool that is neither 0 nor 1");
    tensors.emplace(entries[i].name, placed(y, device));
  }
  return tensors;
}

std::map<std::string, std::string> load_safetensors_metadata(const std::string& path) {
  const detail::InputFile file("load_safetensors", path);
  uint64_t data_begin = 0;
  return read_header(file, path, data_begin).metadata;
}

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
    const auto* text = std::find_if(names.begin(), names.end(), [&](const Name& n) { return n.dtype == dtype; })->text;
    const uint64_t end = next + static_cast<uint64_t>(tensor->numel()) * size_of(dtype);
    header.tensors.push_back({*name, text, {tensor->shape().begin(), tensor->shape().end()}, next, end});
    next = end;
  }
  const std::string text = write_safetensors_header(header);
  const uint64_t length = text.size();
  if (length > header_limit)
    throw ValueError(message("save_safetensors: names and metadata take ", length, " bytes; at most ", header_limit,
                             " can be read again"));
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
