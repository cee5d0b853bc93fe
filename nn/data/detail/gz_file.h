// Reading files that may be gzipped.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "tutti/core/detail/file.h"

#pragma GCC visibility push(default)
namespace tutti::data {

/// A file, gunzipped on the way if it is gzipped. IoError "<op>: <path>: ..." if it cannot be opened or is
/// damaged.
class GzFile {
 public:
  GzFile(const char* op, const std::string& path);
  ~GzFile();
  GzFile(const GzFile&) = delete;
  GzFile& operator=(const GzFile&) = delete;
  /// Up to `bytes` more bytes; fewer only at the end.
  std::string read(size_t bytes);
  /// All the rest.
  std::string read_all();
  /// No more than this can come out of the file: its size, or 1032 times that if it is compressed (deflate's limit).
  uint64_t most_bytes() const { return most_bytes_; }
  /// IoError with op and path in front.
  [[noreturn]] void fail(const std::string& what) const { file_.fail(what); }

 private:
  struct Handle;
  tutti::detail::InputFile file_;
  std::unique_ptr<Handle> handle_;
  uint64_t most_bytes_ = 0;
};

}  // namespace tutti::data
#pragma GCC visibility pop
