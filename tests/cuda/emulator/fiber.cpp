#include "fiber.h"

#include <cstring>

#include "sanitizer.h"

#if defined(__x86_64__)
// Saves the registers that a call keeps, on the stack; 8 ns where swapcontext, which asks the kernel for the signal
// mask, takes 300.
extern "C" void emulator_swap_stacks(void** save, void* load);
asm(R"(
.text
.globl emulator_swap_stacks
.hidden emulator_swap_stacks
.type emulator_swap_stacks, @function
emulator_swap_stacks:
  push %rbp
  push %rbx
  push %r12
  push %r13
  push %r14
  push %r15
  mov %rsp, (%rdi)
  mov %rsi, %rsp
  pop %r15
  pop %r14
  pop %r13
  pop %r12
  pop %rbx
  pop %rbp
  ret
.size emulator_swap_stacks, . - emulator_swap_stacks
)");
#endif

namespace emulator {

void start_fiber(Fiber& fiber, char* stack, size_t size, void (*entry)()) {
  fiber.stack = stack;
  fiber.size = size;
  fiber.fake_stack = nullptr;
  allow_memory(stack, size);  // what frames abandoned there have poisoned
#if defined(__x86_64__)
  constexpr int registers = 6;
  void** top = reinterpret_cast<void**>(stack + size - 64);  // of the alignment that a function expects where it begins
  top[0] = reinterpret_cast<void*>(entry);
  top[1] = nullptr;
  fiber.stack_pointer = top - registers;
  std::memset(fiber.stack_pointer, 0, registers * sizeof(void*));
#else
  getcontext(&fiber.context);
  fiber.context.uc_stack.ss_sp = stack;
  fiber.context.uc_stack.ss_size = size;
  fiber.context.uc_link = nullptr;
  makecontext(&fiber.context, entry, 0);
#endif
}

namespace {
void arrived(Fiber& fiber, [[maybe_unused]] Fiber& from) {
#if EMULATOR_ASAN
  const void* bottom;
  size_t size;
  __sanitizer_finish_switch_fiber(fiber.fake_stack, &bottom, &size);
  from.stack = const_cast<char*>(static_cast<const char*>(bottom));  // a host thread's stack is learnt here
  from.size = size;
#else
  (void)fiber;
#endif
}
Fiber* came_from = nullptr;  // not of a thread: fibers go on in whichever host thread launches next
}  // namespace

void switch_fibers(Fiber& from, Fiber& to) {
  came_from = &from;
#if EMULATOR_ASAN
  __sanitizer_start_switch_fiber(&from.fake_stack, to.stack, to.size);
#endif
#if defined(__x86_64__)
  emulator_swap_stacks(&from.stack_pointer, to.stack_pointer);
#else
  swapcontext(&from.context, &to.context);
#endif
  arrived(from, *came_from);
}

void fiber_entered() {
  Fiber fresh;
  arrived(fresh, *came_from);
}

}  // namespace emulator
