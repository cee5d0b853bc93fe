// AddressSanitizer's interface, where it is there: which bytes may be touched.
#pragma once
#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define EMULATOR_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define EMULATOR_ASAN 1
#endif
#endif
#ifndef EMULATOR_ASAN
#define EMULATOR_ASAN 0
#endif

#if EMULATOR_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace emulator {

inline void forbid_memory([[maybe_unused]] const void* p, [[maybe_unused]] size_t n) {
#if EMULATOR_ASAN
  __asan_poison_memory_region(p, n);
#endif
}
inline void allow_memory([[maybe_unused]] const void* p, [[maybe_unused]] size_t n) {
#if EMULATOR_ASAN
  __asan_unpoison_memory_region(p, n);
#endif
}

}  // namespace emulator
