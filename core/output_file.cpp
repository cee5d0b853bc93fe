#include "tutti/core/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <system_error>
#include <vector>

#ifdef __linux__
#include <sys/xattr.h>
#endif

#include "tutti/core/detail/file_type.h"
#include "tutti/core/detail/utf8.h"
#include "tutti/core/error.h"

namespace tutti {
namespace {

constexpr size_t at_once = size_t{1} << 30;  // Linux moves at most 2 GB in one call

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/') + 1); }

/// What `path` leads to, whether that exists or not (realpath needs it to exist).
std::string behind_links(std::string path) {
  for (int links = 0; links < 40; ++links) {  // as many as Linux follows; stat() has refused a circle
    char to[PATH_MAX];
    const ssize_t n = readlink(path.c_str(), to, sizeof to);
    if (n <= 0) break;
    const std::string next(to, static_cast<size_t>(n));
    path = next[0] == '/' ? next : folder_of(path) + next;
  }
  return path;
}

/// False with errno set.
bool write_all(int descriptor, const char* from, size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    const ssize_t n = ::write(descriptor, from + done, std::min(bytes - done, at_once));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    done += static_cast<size_t>(n);
  }
  return true;
}

/// The whole of `from` over the beginning of `to`. False with errno set.
bool copy_all(int from, int to) {
  std::vector<char> buffer(size_t{1} << 20);
  for (off_t position = 0;;) {
    const ssize_t n = pread(from, buffer.data(), buffer.size(), position);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return n == 0;
    if (!write_all(to, buffer.data(), static_cast<size_t>(n))) return false;
    position += n;
  }
}

bool has_access_list([[maybe_unused]] const std::string& path) {
#ifdef __linux__
  return getxattr(path.c_str(), "system.posix_acl_access", nullptr, 0) > 0;
#else
  return false;
#endif
}

}  // namespace

OutputFile::OutputFile(const char* op, const std::string& path) : op_(op), path_(path) {
  if (path.find('\0') != std::string::npos)
    throw IoError(message(op, ": ", detail::printable(path), ": a zero byte in the file's name"));
  look_at_old();
  create_temporary();
}

OutputFile::~OutputFile() {
  if (descriptor_ < 0) return;
  close(descriptor_);
  unlink(temporary_.c_str());
}

void OutputFile::look_at_old() {
  struct stat old {};
  exists_ = stat(path_.c_str(), &old) == 0;
  if (!exists_ && errno != ENOENT) fail("cannot write", errno);
  if (exists_ && !S_ISREG(old.st_mode))
    refuse(message("is ", detail::file_type(old.st_mode), ", not a regular file; nothing is written"));
  target_ = behind_links(path_);
  folder_ = folder_of(target_);
  if (target_.size() == folder_.size()) refuse("not the name of a file");
  if (!exists_) return;
  struct stat found {};  // another file: a link such as /dev/fd/3, to one that has no name any more
  if (stat(target_.c_str(), &found) != 0 || found.st_ino != old.st_ino || found.st_dev != old.st_dev)
    refuse("a link to a file that no name leads to");
  if (faccessat(AT_FDCWD, target_.c_str(), W_OK, AT_EACCESS) != 0) fail("cannot write", errno);
  mode_ = old.st_mode & 07777;
  owner_ = old.st_uid;
  group_ = old.st_gid;
  in_place_ = old.st_nlink > 1 || has_access_list(target_);
}

void OutputFile::create_temporary() {
  static std::atomic<unsigned> count{0};
  const std::string leaf = target_.substr(folder_.size(), 200);  // a name has at most 255 bytes
  do {
    temporary_ = message(folder_, leaf, ".", getpid(), ".", ++count, ".tmp");
    // Nobody else may look into the new contents of a private file, at no time.
    descriptor_ = open(temporary_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, exists_ ? 0600 : 0666);
  } while (descriptor_ < 0 && errno == EEXIST);
  if (descriptor_ < 0) fail("cannot create a file in " + (folder_.empty() ? "./" : folder_), errno);
  if (!exists_ || in_place_) return;
  struct stat own {};
  const bool same = fstat(descriptor_, &own) == 0 && own.st_uid == owner_ && own.st_gid == group_;
  if ((!same && fchown(descriptor_, owner_, group_) != 0) || fchmod(descriptor_, mode_) != 0) in_place_ = true;
}

void OutputFile::write(const void* from, size_t bytes) {
  if (!write_all(descriptor_, static_cast<const char*>(from), bytes)) fail("cannot write", errno);
}

void OutputFile::commit() {
  if (fsync(descriptor_) != 0) fail("cannot write", errno);
  if (in_place_) {
    copy_into_old();
    unlink(temporary_.c_str());
  } else if (rename(temporary_.c_str(), target_.c_str()) != 0) {
    fail("cannot replace", errno);
  }
  close(descriptor_);
  descriptor_ = -1;
  sync_folder();
}

void OutputFile::copy_into_old() {
  struct Closed {
    int descriptor;
    ~Closed() { close(descriptor); }
  };
  const Closed to{open(target_.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW)};
  struct stat before {
  }, now{};
  if (to.descriptor < 0 || fstat(to.descriptor, &before) != 0 || fstat(descriptor_, &now) != 0)
    fail("cannot write", errno);
  if (!S_ISREG(before.st_mode)) refuse("is no regular file any more");
  if (now.st_size > before.st_size) {  // a full disk shows here, where nothing is lost yet
    const int error = posix_fallocate(to.descriptor, 0, now.st_size);
    if (error != 0 && error != EOPNOTSUPP && error != EINVAL) {
      [[maybe_unused]] const int shrunk = ftruncate(to.descriptor, before.st_size);
      fail("cannot write", error);
    }
  }
  if (copy_all(descriptor_, to.descriptor) && ftruncate(to.descriptor, now.st_size) == 0 && fsync(to.descriptor) == 0)
    return;
  const int error = errno;
  close(descriptor_);
  descriptor_ = -1;  // the only whole copy stays
  fail("only a part could be written; the whole new file is " + temporary_, error);
}

void OutputFile::sync_folder() const {
  // So that the new name survives a crash; best effort, for some file systems cannot.
  const int d = open(folder_.empty() ? "." : folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (d < 0) return;
  fsync(d);
  close(d);
}

void OutputFile::fail(const std::string& what, int error) const {
  refuse(message(what, ": ", std::generic_category().message(error)));
}

void OutputFile::refuse(const std::string& what) const { throw IoError(message(op_, ": ", path_, ": ", what)); }

}  // namespace tutti
