// The header of a safetensors file: the one kind of JSON text that it may be. A strict parser of that grammar is
// shorter than checking what a general JSON library accepts (duplicate keys, floats, nesting), and it cannot be made to
// recurse.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#pragma GCC visibility push(default)
namespace tutti::detail {

struct SafetensorsHeader {
  struct Entry {
    std::string name, dtype;  // "F32", ...
    std::vector<int64_t> shape;
    uint64_t begin = 0, end = 0;  // of its bytes, counted from the end of the header
  };
  std::vector<Entry> tensors;  // in the order of the file
  std::map<std::string, std::string> metadata;
};

/// IoError that says what is wrong at which byte of `text`, or which tensor's entry; its text begins with `file`.
SafetensorsHeader parse_safetensors_header(const std::string& file, std::string_view text);
/// Padded with spaces to a multiple of 8 bytes.
std::string write_safetensors_header(const SafetensorsHeader& header);

}  // namespace tutti::detail
#pragma GCC visibility pop
