#include "grouped_vs_standard/study/workers.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <exception>
#include <new>
#include <thread>

#include <fmt/format.h>

#include "tutti/core/device.h"
#include "tutti/core/error.h"

namespace comparison {
namespace {

enum State : uint8_t { is_waiting, is_taken, is_finished, is_failed };

/// Memory that children and parent share: the next piece, and what became of each.
class Board {
 public:
  explicit Board(int64_t n) : bytes_(sizeof(std::atomic<int64_t>) + static_cast<size_t>(n)) {
    memory_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory_ == MAP_FAILED) throw tutti::IoError("run_in_processes: no shared memory");
    next = new (memory_) std::atomic<int64_t>(0);
    state = reinterpret_cast<std::atomic<uint8_t>*>(next + 1);
    for (int64_t i = 0; i < n; ++i) new (state + i) std::atomic<uint8_t>(is_waiting);
  }
  ~Board() { munmap(memory_, bytes_); }
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;
  std::atomic<int64_t>* next;
  std::atomic<uint8_t>* state;

 private:
  size_t bytes_;
  void* memory_;
};

[[noreturn]] void be_a_worker(const Board& board, int64_t n, const std::function<void(int64_t)>& work) {
  for (int64_t i; (i = board.next->fetch_add(1)) < n;) {
    board.state[i] = is_taken;
    try {
      work(i);
      board.state[i] = is_finished;
    } catch (const std::exception& e) {
      fmt::print(stderr, "{}\n", e.what());
      board.state[i] = is_failed;
    }
  }
  std::fflush(nullptr);
  _exit(0);  // no destructors: they are the parent's
}

std::vector<int64_t> run_here(int64_t n, const std::function<void(int64_t)>& work,
                              const std::function<void(const std::vector<bool>&)>& done) {
  std::vector<bool> finished(static_cast<size_t>(n), false);
  std::vector<int64_t> failed;
  for (int64_t i = 0; i < n; ++i) {
    try {
      work(i);
      finished[static_cast<size_t>(i)] = true;
    } catch (const std::exception& e) {
      fmt::print(stderr, "{}\n", e.what());
      failed.push_back(i);
    }
    done(finished);
  }
  return failed;
}

}  // namespace

std::vector<int64_t> run_in_processes(int64_t n, int workers, const std::function<void(int64_t)>& work,
                                      const std::function<void(const std::vector<bool>&)>& done) {
  if (tutti::default_device() != tutti::cpu) return run_here(n, work, done);
  const Board board(n);
  std::fflush(nullptr);
  const pid_t parent = getpid();
  std::vector<pid_t> children;
  for (int w = 0; w < workers && w < n; ++w) {
    const pid_t child = fork();
    if (child < 0) throw tutti::IoError("run_in_processes: no process could be started");
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) _exit(1);  // the parent died in between
      be_a_worker(board, n, work);
    }
    children.push_back(child);
  }
  std::vector<bool> finished(static_cast<size_t>(n), false);
  const auto look = [&] {
    for (int64_t i = 0; i < n; ++i) finished[static_cast<size_t>(i)] = board.state[i] == is_finished;
    done(finished);
  };
  while (!children.empty()) {
    int status = 0;
    const pid_t ended = waitpid(-1, &status, WNOHANG);
    if (ended > 0) std::erase(children, ended);
    if (ended <= 0) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    look();
  }
  std::vector<int64_t> failed;
  for (int64_t i = 0; i < n; ++i)
    if (!finished[static_cast<size_t>(i)]) failed.push_back(i);
  return failed;
}

}  // namespace comparison
