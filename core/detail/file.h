// Reading files as the formats need it: from any position, with errors that name the file. Writing: output_file.h.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#pragma GCC visibility push(default)
namespace tutti::detail {

/// A regular file opened for reading. IoError "<op>: <path>: ..." whenever something is wrong.
class InputFile {
 public:
  InputFile(const char* op, const std::string& path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  uint64_t size() const { return size_; }
  int descriptor() const { return descriptor_; }  ///< stays this object's
  /// Exactly `bytes` bytes from `position` on.
  void read(void* to, size_t bytes, uint64_t position) const;
  /// Up to `bytes` bytes from the beginning: what tells one format from another.
  std::string start(size_t bytes = 512) const;
  /// IoError with op and path in front.
  [[noreturn]] void fail(const std::string& what) const;

 private:
  const char* op_;
  std::string path_;
  int descriptor_ = -1;
  uint64_t size_ = 0;
};

}  // namespace tutti::detail
#pragma GCC visibility pop
