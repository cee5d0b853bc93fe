// The header of a safetensors file, and the index of a model in several: the one kind of JSON text that each may be. A
// strict parser of that grammar is shorter than checking what a general JSON library accepts (duplicate keys, floats,
// nesting), and it cannot be made to recurse.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/core/dtype.h"

#pragma GCC visibility push(default)
namespace tutti::detail {

constexpr uint64_t safetensors_header_limit = 100'000'000;  // as in the reference implementation

struct SafetensorsHeader {
  struct Entry {
    std::string name, dtype;  // "F32", ...
    std::vector<int64_t> shape;
    uint64_t begin = 0, end = 0;  // of its bytes, counted from the end of the header
  };
  std::vector<Entry> tensors;  // in the order of the file
  std::map<std::string, std::string> metadata;
};

/// The dtype of a name ("F32", ..), if it is one of ours, and back.
std::optional<DType> safetensors_dtype(const std::string& name);
const char* safetensors_name(DType dtype);

/// IoError that says what is wrong at which byte of `text`, or which tensor's entry; its text begins with `file`.
SafetensorsHeader parse_safetensors_header(const std::string& file, std::string_view text);
/// From model.safetensors.index.json: the file of each tensor, a name without a folder. IoError as above.
std::map<std::string, std::string> parse_safetensors_index(const std::string& file, std::string_view text);
/// Padded with spaces to a multiple of 8 bytes.
std::string write_safetensors_header(const SafetensorsHeader& header);

}  // namespace tutti::detail
#pragma GCC visibility pop
