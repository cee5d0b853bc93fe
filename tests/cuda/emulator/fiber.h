// A fiber: a stack and a place to go on from. One per CUDA thread.
#pragma once
#include <cstddef>

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace emulator {

struct Fiber {
#if defined(__x86_64__)
  void* stack_pointer = nullptr;
#else
  ucontext_t context;
#endif
  char* stack = nullptr;
  size_t size = 0;
  void* fake_stack = nullptr;  // AddressSanitizer's
};

/// A fiber on `stack` that begins in entry(), which may not return.
void start_fiber(Fiber& fiber, char* stack, size_t size, void (*entry)());
/// Goes on in `to`; returns when somebody switches back to `from`, the running one.
void switch_fibers(Fiber& from, Fiber& to);
/// The first call in a new fiber.
void fiber_entered();

}  // namespace emulator
