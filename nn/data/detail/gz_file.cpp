#include "tutti/nn/data/detail/gz_file.h"

#include <unistd.h>
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

GzFile::GzFile(const char* op, const std::string& path) : file_(op, path), handle_(std::make_unique<Handle>()) {
  const int descriptor = dup(file_.descriptor());
  if (descriptor >= 0) handle_->file = gzdopen(descriptor, "rb");
  if (!handle_->file) {
    const int error = errno;
    if (descriptor >= 0) close(descriptor);
    fail(message("cannot open: ", std::strerror(error)));
  }
  gzbuffer(handle_->file, static_cast<unsigned>(std::clamp<uint64_t>(file_.size(), 1 << 13, 1 << 16)));
  most_bytes_ = gzdirect(handle_->file) ? file_.size() : 1032 * file_.size();
}

GzFile::~GzFile() = default;

std::string GzFile::read(size_t bytes) {
  std::string out;
  while (out.size() < bytes) {
    // Grows with what is really there, whatever the caller hopes for.
    const size_t before = out.size(), want = std::min(std::clamp<size_t>(before, 1 << 16, 1 << 24), bytes - before);
    out.resize(before + want);
    const int got = gzread(handle_->file, out.data() + before, static_cast<unsigned>(want));
    if (got < 0) {
      int code = 0;
      const char* why = gzerror(handle_->file, &code);
      fail(message("damaged: ", code == Z_ERRNO ? std::strerror(errno) : why));
    }
    out.resize(before + static_cast<size_t>(got));
    if (static_cast<size_t>(got) < want) break;
  }
  int code = Z_OK;  // a gzip stream cut short ends quietly
  const char* why = gzerror(handle_->file, &code);
  if (code == Z_BUF_ERROR) fail(message("damaged: ", why));
  return out;
}

std::string GzFile::read_all() { return read(std::string().max_size()); }

}  // namespace tutti::data
