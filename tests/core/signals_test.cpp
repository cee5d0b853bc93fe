// Signals while the library works: they wait, and nothing is damaged.
#include "tutti/core/detail/signals.h"

#include <pthread.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <vector>
#include "support/on_cpu.h"

#include "support/op_test.h"
#include "tutti/core/generator.h"
#include "tutti/core/parallel.h"
#include "tutti/ops/linear.h"
#include "tutti/ops/random.h"

using namespace tutti;
using namespace tutti_test;

namespace {

volatile std::sig_atomic_t alarms = 0;

/// In a process of its own, whose heap may be damaged: float32 products under an alarm every 200 microseconds. 0: all
/// as without.
int products_under_alarms(int threads) {
  set_num_threads(threads);
  manual_seed(1);
  const Tensor x = randn({2000, 256}), w = randn({64, 256});
  const auto expected = linear(x, w).to_vector<float>();
  std::signal(SIGALRM, [](int) { alarms = alarms + 1; });
  const itimerval often{{0, 200}, {0, 200}}, never{};
  setitimer(ITIMER_REAL, &often, nullptr);
  bool same = true;
  for (int i = 0; i < 300 || alarms < 50; ++i) {
    std::vector<std::string> garbage;  // the heap in use around the product
    for (int j = 0; j < 20; ++j) garbage.emplace_back(static_cast<size_t>(100 + 50 * j), 'x');
    same = same && linear(x, w).to_vector<float>() == expected;
  }
  setitimer(ITIMER_REAL, &never, nullptr);
  return same ? 0 : 1;
}

/// The child's exit status; a damaged heap may also stop it for ever, so it has a minute.
int status_of(pid_t child) {
  int status = -1;
  for (int i = 0; i < 600; ++i, usleep(100000))
    if (waitpid(child, &status, WNOHANG) == child) return status;
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  return status;
}

sigset_t mask_of_this_thread() {
  sigset_t mask;
  pthread_sigmask(SIG_BLOCK, nullptr, &mask);
  return mask;
}

}  // namespace

TEST_CASE("signals: those that arrive during a product damage nothing") {
  const tutti_test::OnCpu here;
  for (const int threads : {1, 2}) {
    const pid_t child = fork();
    if (child == 0) _exit(products_under_alarms(threads));
    REQUIRE(child > 0);
    const int status = status_of(child);
    INFO(threads << " threads, status " << status);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
  }
}

TEST_CASE("signals: held ones come afterwards, and the thread's own are not held") {
  static volatile std::sig_atomic_t came = 0;
  came = 0;
  const auto before = std::signal(SIGUSR1, [](int) { came = came + 1; });
  {
    const SignalsHeld held;
    const sigset_t mask = mask_of_this_thread();
    CHECK(sigismember(&mask, SIGINT) == 1);
    CHECK(sigismember(&mask, SIGSEGV) == 0);
    raise(SIGUSR1);
    CHECK(came == 0);
  }
  CHECK(came == 1);
  const sigset_t mask = mask_of_this_thread();
  CHECK(sigismember(&mask, SIGINT) == 0);
  std::signal(SIGUSR1, before);
}
