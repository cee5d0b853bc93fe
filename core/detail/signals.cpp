#include "tutti/core/detail/signals.h"

#include <pthread.h>

#include <initializer_list>

namespace tutti {
namespace {

sigset_t from_outside() {
  sigset_t set;
  sigfillset(&set);
  for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT}) sigdelset(&set, own);
  return set;
}

}  // namespace

SignalsHeld::SignalsHeld() noexcept {
  static const sigset_t held = from_outside();
  pthread_sigmask(SIG_BLOCK, &held, &before_);
}

SignalsHeld::~SignalsHeld() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

}  // namespace tutti
