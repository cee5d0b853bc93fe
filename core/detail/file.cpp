#include "tutti/core/detail/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "tutti/core/detail/file_type.h"
#include "tutti/core/detail/utf8.h"
#include "tutti/core/error.h"

namespace tutti::detail {
namespace {
constexpr size_t at_once = size_t{1} << 30;  // Linux moves at most 2 GB in one call
std::string reason(int error) { return std::generic_category().message(error); }
}  // namespace

InputFile::InputFile(const char* op, const std::string& path) : op_(op), path_(path) {
  if (path.find('\0') != std::string::npos)
    throw IoError(message(op, ": ", printable(path), ": a zero byte in the file's name"));
  struct stat s {};
  if (stat(path.c_str(), &s) == 0 && !S_ISREG(s.st_mode))  // before it is opened, which may do things to a device
    fail(message("is ", file_type(s.st_mode), ", not a regular file"));
  descriptor_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor_ < 0) fail("cannot open: " + reason(errno));
  if (fstat(descriptor_, &s) != 0 || !S_ISREG(s.st_mode)) {  // another has taken its name
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

std::string InputFile::start(size_t bytes) const {
  std::string s(static_cast<size_t>(std::min<uint64_t>(bytes, size_)), '\0');
  read(s.data(), s.size(), 0);
  return s;
}

void InputFile::fail(const std::string& what) const { throw IoError(message(op_, ": ", path_, ": ", what)); }

}  // namespace tutti::detail
