// A place in a kernel's source.
#pragma once

namespace emulator {

struct Site {
  const char* file;
  int line;
  // Evaluated where the call stands, when it is the default of an argument.
  static constexpr Site here(const char* f = __builtin_FILE(), int l = __builtin_LINE()) { return {f, l}; }
};

}  // namespace emulator

#define EMULATOR_SITE emulator::Site site = emulator::Site::here(__builtin_FILE(), __builtin_LINE())
// The access recorder's compiler hooks do not belong into the emulator's own code.
#define EMULATOR_SILENT __attribute__((no_sanitize("thread")))
