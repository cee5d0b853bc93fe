// What a path names, in words.
#pragma once
#include <sys/stat.h>

namespace tutti::detail {

/// "a directory", "a FIFO", ... of st_mode.
inline const char* file_type(mode_t mode) {
  return S_ISREG(mode)    ? "a regular file"
         : S_ISDIR(mode)  ? "a directory"
         : S_ISFIFO(mode) ? "a FIFO (a pipe)"
         : S_ISCHR(mode)  ? "a character device"
         : S_ISBLK(mode)  ? "a block device"
         : S_ISSOCK(mode) ? "a socket"
                          : "of an unknown kind";
}

}  // namespace tutti::detail
