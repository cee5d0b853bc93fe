#include "tutti/core/safetensors_file.h"

#include <algorithm>

#include "tutti/core/detail/file.h"
#include "tutti/core/detail/foreign_format.h"
#include "tutti/core/detail/host_copy.h"
#include "tutti/core/detail/near_name.h"
#include "tutti/core/detail/safetensors_header.h"
#include "tutti/core/detail/utf8.h"
#include "tutti/core/error.h"
#include "tutti/core/safetensors.h"

namespace tutti {

using detail::InputFile;
using detail::printable;
using detail::SafetensorsHeader;
using HeaderEntry = SafetensorsHeader::Entry;

struct SafetensorsFile::Contents {
  struct Place {
    SafetensorsEntry entry;
    const InputFile* file;
    uint64_t begin;  // in the file
  };
  const char* op;
  std::string path;
  std::vector<std::unique_ptr<InputFile>> files;
  std::map<std::string, Place> places;
  std::map<std::string, std::string> metadata;

  [[noreturn]] void fail(const std::string& what) const { throw IoError(message(op, ": ", path, ": ", what)); }
  const Place& place(const std::string& name) const;
  void check_readable(const std::string& name, const Place& p) const;
  Tensor read(const std::string& name, const Place& p, Device device) const;
};

namespace {

/// Checks one entry by itself.
SafetensorsEntry checked(const HeaderEntry& e, const InputFile& file, const std::string& path) {
  const auto fail = [&](const std::string& what) { file.fail("tensor '" + printable(e.name) + "': " + what); };
  const auto dtype = detail::safetensors_dtype(e.dtype);
  if (e.shape.size() > Dims::max_rank) fail(message(e.shape.size(), " dimensions, at most 8 are possible"));
  SafetensorsEntry entry{e.dtype, {}, e.end - e.begin, path, dtype.has_value()};
  for (int64_t n : e.shape) entry.shape.push(n);
  if (!fits_memory(entry.shape, dtype ? size_of(*dtype) : 1)) fail(message("shape ", entry.shape, " is too large"));
  // Of a dtype that is none of ours the size is not known either.
  const uint64_t bytes = dtype ? static_cast<uint64_t>(entry.shape.product()) * size_of(*dtype) : entry.bytes;
  if (e.begin > e.end || e.end - e.begin != bytes)
    fail(message("bytes ", e.begin, " to ", e.end, " do not hold shape ", entry.shape, " of ", printable(e.dtype), " (",
                 bytes, " bytes)"));
  return entry;
}

/// A file that does not begin as one of this format may well be one of another.
[[noreturn]] void fail_start(const InputFile& file, const std::string& what) {
  const std::string format = detail::foreign_format(file.start());
  const bool other = !format.empty() && !format.starts_with("a safetensors file");  // (a damaged one is no other)
  file.fail(other ? "is no safetensors file but " + format : what);
}

std::string text_of(const InputFile& file, uint64_t begin, uint64_t length) {
  std::string text(static_cast<size_t>(length), '\0');
  file.read(text.data(), text.size(), begin);
  return text;
}

/// Reads and checks everything but the data; `data_begin` is where that starts.
SafetensorsHeader read_header(const InputFile& file, const std::string& place, uint64_t& data_begin) {
  if (file.size() < 8) fail_start(file, message("too short for a header (", file.size(), " bytes)"));
  uint64_t length = 0;
  file.read(&length, 8, 0);
  if (length > detail::safetensors_header_limit || length > file.size() - 8)
    fail_start(file, message("header of ", length, " bytes in a file of ", file.size()));
  const std::string text = text_of(file, 8, length);
  if (const size_t first = text.find_first_not_of(" \t\r\n"); first != text.npos && text[first] != '{')
    fail_start(file, message("header, byte ", first, ": expected '{'"));
  data_begin = 8 + length;
  SafetensorsHeader header = detail::parse_safetensors_header(place, text);

  auto& entries = header.tensors;
  std::sort(entries.begin(), entries.end(), [](const HeaderEntry& a, const HeaderEntry& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
  });
  return header;
}

/// The data is what the tensors are, without holes.
void check_range(const HeaderEntry& e, uint64_t next, uint64_t data_bytes, const InputFile& file) {
  if (e.end > data_bytes)
    file.fail(message("tensor '", printable(e.name), "': bytes ", e.begin, " to ", e.end, " of only ", data_bytes));
  if (e.begin != next)
    file.fail(message("tensor '", printable(e.name), "': begins at byte ", e.begin,
                      e.begin < next ? ", inside" : ", not at", " the end of the one before it at ", next));
}

/// The text of an index, which is no safetensors file, or nothing.
std::string index_text(const InputFile& file) {
  const std::string start = file.start(64);
  const size_t first = start.find_first_not_of(" \t\r\n");
  if (first == start.npos || start[first] != '{' || start.find('\0') != start.npos) return {};
  if (file.size() > detail::safetensors_header_limit) return {};
  std::string text = text_of(file, 0, file.size());
  return text.find("\"weight_map\"") == text.npos ? std::string() : text;
}

}  // namespace

SafetensorsFile::SafetensorsFile(const char* op, const std::string& path) {
  const auto contents = std::make_shared<Contents>();
  Contents& c = *contents;
  c.op = op;
  c.path = path;

  const auto add = [&](std::unique_ptr<InputFile> opened, const std::string& file_path) {
    const InputFile& file = *c.files.emplace_back(std::move(opened));
    uint64_t data_begin = 0, next = 0;
    SafetensorsHeader header = read_header(file, message(op, ": ", file_path), data_begin);
    const uint64_t data_bytes = file.size() - data_begin;
    for (const HeaderEntry& e : header.tensors) {
      SafetensorsEntry entry = checked(e, file, file_path);
      check_range(e, next, data_bytes, file);
      next = e.end;
      const auto [it, first] = c.places.emplace(e.name, Contents::Place{std::move(entry), &file, data_begin + e.begin});
      if (!first)
        c.fail(message("tensor '", printable(e.name), "' is both in ", it->second.entry.file, " and in ", file_path));
    }
    if (next != data_bytes) file.fail(message(data_bytes - next, " bytes belong to no tensor"));
    c.metadata.merge(header.metadata);
  };

  auto file = std::make_unique<InputFile>(op, path);
  const std::string index = index_text(*file);
  if (index.empty()) {
    add(std::move(file), path);
  } else {
    const auto shard_of = detail::parse_safetensors_index(message(op, ": ", path), index);
    const std::string folder = path.substr(0, path.rfind('/') + 1);  // all of nothing, if there is no /
    std::map<std::string, std::string> shards;
    for (const auto& [name, shard] : shard_of) shards.emplace(shard, folder + shard);
    for (const auto& [shard, shard_path] : shards) add(std::make_unique<InputFile>(op, shard_path), shard_path);
    for (const auto& [name, shard] : shard_of) {
      const auto it = c.places.find(name);
      if (it == c.places.end() || it->second.entry.file != shards.at(shard))
        c.fail(message("tensor '", printable(name), "' is not in ", shards.at(shard), ", as the index says"));
    }
    for (const auto& [name, place] : c.places)
      if (!shard_of.contains(name))
        c.fail(message("tensor '", printable(name), "' of ", place.entry.file, " is not in the index"));
  }
  contents_ = contents;
}

SafetensorsFile::SafetensorsFile(const std::string& path) : SafetensorsFile("SafetensorsFile", path) {}

const SafetensorsFile::Contents::Place& SafetensorsFile::Contents::place(const std::string& name) const {
  if (const auto it = places.find(name); it != places.end()) return it->second;
  std::vector<std::string> all;
  for (const auto& [other, p] : places) all.push_back(other);
  const std::string near = detail::near_name(name, all);
  fail(message("no tensor '", printable(name), "'; ",
               near.empty() ? message("it has ", places.size(), places.size() == 1 ? " tensor" : " tensors",
                                      all.empty() ? "" : ", the first is '" + printable(all.front()) + "'")
                            : "there is '" + printable(near) + "'"));
}

void SafetensorsFile::Contents::check_readable(const std::string& name, const Place& p) const {
  if (!p.entry.readable)
    p.file->fail("tensor '" + printable(name) + "': unknown dtype '" + printable(p.entry.dtype) + "'" +
                 (places.size() > 1 ? "; SafetensorsFile reads the others one by one" : ""));
}

Tensor SafetensorsFile::Contents::read(const std::string& name, const Place& p, Device device) const {
  check_readable(name, p);
  const Output y = output(p.entry.shape, *detail::safetensors_dtype(p.entry.dtype), cpu);
  const auto bytes = static_cast<size_t>(p.entry.bytes);
  p.file->read(y.data(), bytes, p.begin);
  if (y.dtype() == DType::boolean)
    if (const auto* byte = static_cast<const uint8_t*>(y.data());
        std::any_of(byte, byte + bytes, [](uint8_t b) { return b > 1; }))
      p.file->fail("tensor '" + printable(name) + "': a bool that is neither 0 nor 1");
  return placed(y, device);
}

std::vector<std::string> SafetensorsFile::names() const {
  std::vector<std::string> list;
  for (const auto& [name, place] : contents_->places) list.push_back(name);
  return list;
}

bool SafetensorsFile::contains(const std::string& name) const { return contents_->places.contains(name); }
size_t SafetensorsFile::size() const { return contents_->places.size(); }
const SafetensorsEntry& SafetensorsFile::entry(const std::string& name) const { return contents_->place(name).entry; }
const std::map<std::string, std::string>& SafetensorsFile::metadata() const { return contents_->metadata; }

Tensor SafetensorsFile::get(const std::string& name, Device device) const {
  (void)backend(device);  // an error before the work
  return contents_->read(name, contents_->place(name), device);
}

std::map<std::string, Tensor> SafetensorsFile::tensors(Device device) const {
  (void)backend(device);
  for (const auto& [name, place] : contents_->places) contents_->check_readable(name, place);
  std::map<std::string, Tensor> all;
  for (const auto& [name, place] : contents_->places) all.emplace(name, contents_->read(name, place, device));
  return all;
}

std::map<std::string, Tensor> load_safetensors(const std::string& path, Device device) {
  (void)backend(device);  // an error before the work
  return SafetensorsFile("load_safetensors", path).tensors(device);
}

std::map<std::string, std::string> load_safetensors_metadata(const std::string& path) {
  return SafetensorsFile("load_safetensors", path).metadata();
}

}  // namespace tutti
