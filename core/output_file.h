// Writing that leaves either the old file or the whole new one: every writer of the project stands on it.
#pragma once
#include <sys/types.h>

#include <cstddef>
#include <string>

#pragma GCC visibility push(default)
namespace tutti {

/// A new file under a temporary name in the folder of `path`, which commit() makes `path`; without it nothing remains.
///
/// Symbolic links are written through, also one whose target is still to be made. An existing file keeps its mode,
/// owner, group, access list and further names (hard links, which then see the new contents); a new one gets what the
/// umask leaves of 0666. What is no regular file (a device, a FIFO, a folder) is refused before anything is written.
///
/// IoError "<op>: <path>: ...". Usually the new file is renamed, which a crash cannot split. Where a rename would lose
/// a further name, the owner or the access list, its contents are copied into the old file instead, once they are safe
/// on the disk under the temporary name and there is room for them; should that copy fail, the error names that file.
class OutputFile {
 public:
  OutputFile(const char* op, const std::string& path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(const void* from, size_t bytes);
  void write(const std::string& text) { write(text.data(), text.size()); }
  /// Everything is on the disk before the name changes.
  void commit();

 private:
  void look_at_old();
  void create_temporary();
  void copy_into_old();
  void sync_folder() const;
  [[noreturn]] void fail(const std::string& what, int error) const;
  [[noreturn]] void refuse(const std::string& what) const;

  const char* op_;
  std::string path_;             // as the caller named it
  std::string target_, folder_;  // what its links lead to, and where that lies ("" or ending with /)
  std::string temporary_;
  int descriptor_ = -1;  // of the temporary file; -1 once it is gone
  bool exists_ = false, in_place_ = false;
  mode_t mode_ = 0;  // of the old file
  uid_t owner_ = 0;
  gid_t group_ = 0;
};

}  // namespace tutti
#pragma GCC visibility pop
