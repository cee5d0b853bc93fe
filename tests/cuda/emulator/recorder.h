// Inside the emulator: what the access recorder wants to hear. Null in builds without it.
#pragma once
#include <cstddef>

namespace emulator {

struct Recorder {
  void (*begin)(const char* p, size_t bytes, bool shared);  ///< new, uninitialised memory
  void (*end)(const char* p);
  void (*launch)();  ///< what earlier launches did is over
  void (*block)();
  void (*host_write)(const char* p, size_t bytes);                    ///< a copy or a library has initialised it
  void (*host_copy)(const char* to, const char* from, size_t bytes);  ///< what is uninitialised stays so
  void (*read)(const void* p, size_t bytes, const void* pc);
  void (*write)(const void* p, size_t bytes, const void* pc);
  /// Written, but not to be read yet: an asynchronous copy.
  void (*write_later)(const void* p, size_t bytes, const void* pc);
  void (*atomic)(const void* p, size_t bytes, const void* pc);
  void (*fence)();
};
extern const Recorder* recorder;

}  // namespace emulator
