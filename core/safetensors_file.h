// A safetensors file, or the index of a model in several, opened as a thing: what is in it, and one tensor at a time.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tutti/core/tensor.h"

#pragma GCC visibility push(default)
namespace tutti {

/// What a file says of one of its tensors.
struct SafetensorsEntry {
  std::string dtype;  ///< as the format spells it: "F32", "BF16", "F8_E4M3", ...
  Dims shape;
  uint64_t bytes = 0;    ///< in the file
  std::string file;      ///< path of the file that it is in
  bool readable = true;  ///< whether Tutti has this dtype
};

/// Opening reads and checks the header alone; a tensor is read when it is asked for, from the file straight into its
/// own memory. (Files are read, not mapped: a mapped file that somebody cuts short ends the process, and a tensor would
/// change with it.) The file stays open; several threads may read at once; copies share it.
class SafetensorsFile {
 public:
  /// A .safetensors file, or an index (model.safetensors.index.json) whose shards lie beside it. IoError naming the
  /// file and the tensor, as of load_safetensors; also if a tensor is in two shards, or in none or another than the
  /// index says.
  explicit SafetensorsFile(const std::string& path);

  std::vector<std::string> names() const;  ///< sorted
  bool contains(const std::string& name) const;
  size_t size() const;  ///< number of tensors
  /// IoError if there is no such tensor; it says which name is near.
  const SafetensorsEntry& entry(const std::string& name) const;
  /// The tensor, read now. IoError if there is none, or its dtype is none of ours.
  Tensor get(const std::string& name, Device device = default_device()) const;
  /// All of them. IoError before anything is read if one's dtype is none of ours.
  std::map<std::string, Tensor> tensors(Device device = default_device()) const;
  /// The texts that were saved beside the tensors; of shards, each key's first.
  const std::map<std::string, std::string>& metadata() const;

 private:
  struct Contents;
  SafetensorsFile(const char* op, const std::string& path);
  friend std::map<std::string, Tensor> load_safetensors(const std::string& path, Device device);
  friend std::map<std::string, std::string> load_safetensors_metadata(const std::string& path);
  std::shared_ptr<const Contents> contents_;
};

}  // namespace tutti
#pragma GCC visibility pop
