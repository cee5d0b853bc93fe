// Accesses that the CPU refuses: host code in device memory, which goes on (and the fault is noted); kernels in memory
// of another device or nowhere, which end with a fault that names the thread.
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>

#include "memory.h"
#include "report.h"
#include "running.h"
#include "sanitizer.h"

namespace emulator {
namespace {

struct sigaction before;
const void* crash_pc;
const char* crash_text;
alignas(64) char crash_stack[64 << 10];  // the kernel's own may be what is full

#if defined(__x86_64__)
[[noreturn]] void crashed() {
  allow_memory(crash_stack, sizeof crash_stack);
  fail_at(crash_text, crash_pc);
}
#endif

void handler(int signal, siginfo_t* info, void* context) {
  void* const pc =
#if defined(__x86_64__)
      reinterpret_cast<void*>(static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
#else
      (static_cast<void>(context), nullptr);
#endif
  const bool in_kernel = running.here();
  const int device = device_of(info->si_addr);
  if (!in_kernel && device >= 0) {
    note_fault_at("host code touches device memory", pc);
    let_through(info->si_addr);
    return;
  }
#if defined(__x86_64__)
  if (in_kernel) {
    crash_pc = pc;
    crash_text = device < 0                 ? "a kernel reads or writes nowhere, or a vector where it is not aligned"
                 : device != running.device ? "a kernel touches the memory of another device"
                                            : "a kernel touches memory that was never allocated";
    auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
    registers[REG_RIP] = reinterpret_cast<greg_t>(&crashed);
    registers[REG_RSP] = reinterpret_cast<greg_t>(crash_stack + sizeof crash_stack - 128 - 8);  // as after a call
    return;
  }
#endif
  sigaction(signal, &before, nullptr);  // again, and for whoever was there first
}

}  // namespace

void catch_wild_accesses() {
  struct sigaction action {
  }, old;
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  sigaction(SIGSEGV, &action, &old);
  if (old.sa_sigaction != handler) before = old;  // test frameworks install their own again and again
  stack_t stack{};
  sigaltstack(nullptr, &stack);
  if (!(stack.ss_flags & SS_DISABLE)) return;
  static thread_local char own[64 << 10];  // a thread whose stack is full still can say so
  stack.ss_sp = own;
  stack.ss_size = sizeof own;
  stack.ss_flags = 0;
  sigaltstack(&stack, nullptr);
}

}  // namespace emulator
