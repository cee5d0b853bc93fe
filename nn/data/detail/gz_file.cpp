#include "tutti/nn/data/detail/gz_file.h"

#include <sys/stat.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "tutti/core/error.h"

namespace tutti::data {

struct GzFile::Handle {
  gzFile file = nullptr;
  ~Handle() {
    if (file) gzclose_r(file);
  }
};

GzFile::GzFile(const std::string& path) : path_(path), handle_(std::make_unique<Handle>()) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) throw IoError(message(path, ": cannot be opened: ", std::strerror(errno)));
  if (!S_ISREG(info.st_mode)) throw IoError(message(path, ": is not a regular file"));
  handle_->file = gzopen(path.c_str(), "rb");
  if (!handle_->file) throw IoError(message(path, ": cannot be opened: ", std::strerror(errno)));
  gzbuffer(handle_->file, 1 << 16);
  const auto size = static_cast<uint64_t>(info.st_size);
  most_bytes_ = gzdirect(handle_->file) ? size : 1032 * size;
}

GzFile::~GzFile() = default;

std::string GzFile::read(size_t bytes) {
  std::string out;
  constexpr size_t step = size_t{1} << 20;  // grows with what is really there, whatever the caller hopes for
  while (out.size() < bytes) {
    const size_t before = out.size(), want = std::min(step, bytes - before);
    out.resize(before + want);
    const int got = gzread(handle_->file, out.data() + before, static_cast<unsigned>(want));
    if (got < 0) {
      int code = 0;
      const char* why = gzerror(handle_->file, &code);
      throw IoError(message(path_, ": damaged: ", code == Z_ERRNO ? std::strerror(errno) : why));
    }
    out.resize(before + static_cast<size_t>(got));
    if (static_cast<size_t>(got) < want) break;
  }
  int code = Z_OK;  // a gzip stream cut short ends quietly
  const char* why = gzerror(handle_->file, &code);
  if (code == Z_BUF_ERROR) throw IoError(message(path_, ": damaged: ", why));
  return out;
}

std::string GzFile::read_all() { return read(std::string().max_size()); }

}  // namespace tutti::data
