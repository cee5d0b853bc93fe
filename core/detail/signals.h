// Signals kept away from a thread for a while.
#pragma once
#include <csignal>

#pragma GCC visibility push(default)  // for its test
namespace tutti {

/// While one lives, this thread, and every thread that it starts, takes no signal from outside (SIGINT, a timer's);
/// they wait, or go to another thread. Those that its own code raises (SIGSEGV and the like) come as ever.
class SignalsHeld {
 public:
  SignalsHeld() noexcept;
  ~SignalsHeld();
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;

 private:
  sigset_t before_;
};

}  // namespace tutti
#pragma GCC visibility pop
