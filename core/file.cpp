#include "tutti/core/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <system_error>

#include "tutti/core/error.h"

namespace tutti::detail {
namespace {
constexpr size_t at_once = size_t{1} << 30;  // Linux moves at most 2 GB in one call
std::string reason(int error) { return std::generic_category().message(error); }
}  // namespace

InputFile::InputFile(const char* op, const std::string& path) : op_(op), path_(path) {
  descriptor_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // (a pipe is not waited for, but refused)
  if (descriptor_ < 0) fail("cannot open: " + reason(errno));
  struct stat s {};
  const bool regular = fstat(descriptor_, &s) == 0 && S_ISREG(s.st_mode);
  if (!regular) {
    close(descriptor_);
    fail("not a regular file");
  }
  size_ = static_cast<uint64_t>(s.st_size);
}

InputFile::~InputFile() { close(descriptor_); }

void InputFile::read(void* to, size_t bytes, uint64_t position) const {
  for (size_t done = 0; done < bytes;) {
    const ssize_t n = pread(descriptor_, static_cast<char*>(to) + done, std::min(bytes - done, at_once),
                            static_cast<off_t>(position + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail("cannot read: " + reason(errno));
    if (n == 0) fail("ends too early");
    done += static_cast<size_t>(n);
  }
}

void InputFile::fail(const std::string& what) const { throw IoError(message(op_, ": ", path_, ": ", what)); }

OutputFile::OutputFile(const char* op, const std::string& path) : op_(op), path_(path) {
  static std::atomic<unsigned> count{0};
  do {
    temporary_ = message(path, ".", getpid(), ".", ++count, ".tmp");
    descriptor_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (descriptor_ < 0 && errno == EEXIST);
  if (descriptor_ < 0) fail("cannot create");
}

OutputFile::~OutputFile() {
  if (descriptor_ < 0) return;
  close(descriptor_);
  unlink(temporary_.c_str());
}

void OutputFile::write(const void* from, size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    const ssize_t n = ::write(descriptor_, static_cast<const char*>(from) + done, std::min(bytes - done, at_once));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail("cannot write");
    done += static_cast<size_t>(n);
  }
}

void OutputFile::commit() {
  if (fsync(descriptor_) != 0) fail("cannot write");
  if (rename(temporary_.c_str(), path_.c_str()) != 0) fail("cannot replace");
  close(descriptor_);
  descriptor_ = -1;
  // The folder too, so that the new name survives a crash; best effort, for some file systems cannot.
  const size_t slash = path_.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path_.substr(0, slash + 1);
  const int d = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (d >= 0) {
    fsync(d);
    close(d);
  }
}

void OutputFile::fail(const char* what) const {
  throw IoError(message(op_, ": ", path_, ": ", what, ": ", reason(errno)));
}

}  // namespace tutti::detail
