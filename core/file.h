// Files as the formats need them: reading from any position with errors that name the file, and writing that leaves
// either the old file or the whole new one.
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
  /// Exactly `bytes` bytes from `position` on.
  void read(void* to, size_t bytes, uint64_t position) const;
  /// IoError with op and path in front.
  [[noreturn]] void fail(const std::string& what) const;

 private:
  const char* op_;
  std::string path_;
  int descriptor_ = -1;
  uint64_t size_ = 0;
};

/// A file under a temporary name beside `path`, which commit() makes `path`; without it nothing remains.
class OutputFile {
 public:
  OutputFile(const char* op, const std::string& path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(const void* from, size_t bytes);
  /// Everything is on the disk before the name changes.
  void commit();

 private:
  [[noreturn]] void fail(const char* what) const;

  const char* op_;
  std::string path_, temporary_;
  int descriptor_ = -1;
};

}  // namespace tutti::detail
#pragma GCC visibility pop
