// parallel_for: pieces, exceptions, nesting, callers on several threads, and where the number of threads comes from.
#include "tutti/core/parallel.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#ifdef _OPENMP
#include <omp.h>
#endif

#include "support/catch.h"
#include "support/engines.h"
#include "tutti/core/detail/cpu_count.h"
#include "tutti/core/error.h"

using namespace tutti;

#if defined(__SANITIZE_THREAD__)
#define TUTTI_TEST_TSAN 1
#elif defined(__has_feature)
#define TUTTI_TEST_TSAN __has_feature(thread_sanitizer)
#else
#define TUTTI_TEST_TSAN 0
#endif

namespace {

struct Threads {  // restores the default
  explicit Threads(int n) { set_num_threads(n); }
  ~Threads() { set_num_threads(0); }
};

/// How often each of n elements was visited, all pieces checked against `grain`.
std::vector<int> visits(int64_t n, int64_t grain) {
  std::vector<int> count(static_cast<size_t>(n));
  std::atomic<int> misplaced{0};
  parallel_for(n, grain, [&](int64_t begin, int64_t end) {
    if (begin % grain != 0 || end != std::min(n, begin + grain)) ++misplaced;
    for (int64_t i = begin; i < end; ++i) ++count[static_cast<size_t>(i)];
  });
  CHECK(misplaced == 0);
  return count;
}

}  // namespace

TEST_CASE("parallel_for visits every element once, in pieces of the grain") {
  for_each_engine([&] {
    for (int threads : {1, 2, 6, 40}) {
      const Threads use(threads);
      for (int64_t n : {0, 1, 7, 64, 1000, 1001})
        for (int64_t grain : {1, 3, 64, 2000}) CHECK(visits(n, grain) == std::vector<int>(static_cast<size_t>(n), 1));
    }
  });
}

TEST_CASE("parallel_for uses several threads") {
  for_each_engine([&] {
    const Threads use(3);
    std::mutex mutex;
    std::set<std::thread::id> seen;
    for (int attempt = 0; attempt < 100 && seen.size() < 3; ++attempt)
      parallel_for(6, 1, [&](int64_t, int64_t) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        const std::lock_guard lock(mutex);
        seen.insert(std::this_thread::get_id());
      });
    CHECK(seen.size() == 3);
  });
}

TEST_CASE("parallel_for throws the exception of the lowest piece") {
  for_each_engine([&] {
    for (int threads : {1, 2, 6}) {
      const Threads use(threads);
      for (int attempt = 0; attempt < 50; ++attempt) {
        REQUIRE_THROWS_WITH(parallel_for(100, 1,
                                         [](int64_t begin, int64_t) {
                                           if (begin % 10 == 7) throw std::runtime_error(message("piece ", begin));
                                         }),
                            "piece 7");
        CHECK(visits(100, 10) == std::vector<int>(100, 1));  // and works again afterwards
      }
    }
  });
}

TEST_CASE("parallel_for inside parallel_for stays on the calling thread") {
  for_each_engine([&] {
    const Threads use(4);
    std::atomic<int> total{0}, elsewhere{0};
    parallel_for(8, 1, [&](int64_t, int64_t) {
      const auto me = std::this_thread::get_id();
      parallel_for(10, 1, [&](int64_t begin, int64_t end) {
        total += static_cast<int>(end - begin);
        if (std::this_thread::get_id() != me) ++elsewhere;
      });
    });
    CHECK(total == 80);
    CHECK(elsewhere == 0);
  });
}

TEST_CASE("parallel_for from several threads at once") {
  for_each_engine([&] {
    const Threads use(4);
    std::atomic<int> good{0};
    std::vector<std::thread> callers;
    for (int c = 0; c < 4; ++c)
      callers.emplace_back([&] {
        for (int k = 0; k < 200; ++k) {
          std::atomic<int64_t> sum{0};
          parallel_for(100, 7, [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) sum += i;
          });
          if (sum == 4950) ++good;
        }
      });
    for (auto& c : callers) c.join();
    CHECK(good == 800);
  });
}

TEST_CASE("parallel_for inside the caller's own OpenMP region") {
#ifdef _OPENMP
  const Threads use(2);
  const int levels = omp_get_max_active_levels();
  for_each_engine([&] {
    for (int nesting : {1, 2}) {  // teams inside a team: OpenMP's default is not to
      if (nesting == 2 && TUTTI_TEST_TSAN) {
        WARN("skipped: the thread sanitizer does not see how libomp joins a team inside a team");
        continue;
      }
      omp_set_max_active_levels(nesting);
      std::atomic<int> good{0};
#pragma omp parallel num_threads(3)
      for (int k = 0; k < 50; ++k) {
        std::atomic<int64_t> sum{0};
        parallel_for(100, 7, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) sum += i;
        });
        if (sum != 4950) good = -1'000'000;
        ++good;
      }
      CHECK(good > 0);
      CHECK(good % 50 == 0);
    }
  });
  omp_set_max_active_levels(levels);
#else
  WARN("skipped: the tests were built without OpenMP");
#endif
}

#if !TUTTI_TEST_TSAN  // it ends a forked child that starts threads
TEST_CASE("parallel_for in the child of a fork") {
  for_each_engine([&] {
    const Threads use(2);
    visits(100, 1);
    const pid_t child = fork();
    if (child == 0) {
      std::atomic<int64_t> sum{0};
      for (int k = 0; k < 20; ++k) parallel_for(100, 7, [&](int64_t begin, int64_t end) { sum += end - begin; });
      _exit(sum == 2000 ? 0 : 1);
    }
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
  });
}

#ifdef _OPENMP
TEST_CASE("the first parallel_for in a child whose parent has had OpenMP regions of its own") {
  const Threads use(2);
  int regions = 0;
#pragma omp parallel num_threads(2) reduction(+ : regions)
  ++regions;
  CHECK(regions > 0);
  for_each_engine([] {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);  // where it would wait for threads that stayed with the parent
      std::atomic<int64_t> sum{0};
      parallel_for(100, 7, [&](int64_t begin, int64_t end) { sum += end - begin; });
      _exit(sum == 100 ? 0 : 1);
    }
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
  });
}
#endif
#endif

TEST_CASE("set_parallel_engine") {
  const ParallelEngine before = parallel_engine();
  set_parallel_engine(ParallelEngine::pool);
  CHECK(parallel_engine() == ParallelEngine::pool);
  try {
    set_parallel_engine(ParallelEngine::openmp);
    CHECK(parallel_engine() == ParallelEngine::openmp);
  } catch (const ValueError& e) {
    CHECK(std::string(e.what()) == "set_parallel_engine: this build has no OpenMP (configure with -DTUTTI_OPENMP=ON)");
    CHECK(parallel_engine() == ParallelEngine::pool);
  }
  set_parallel_engine(before);
}

TEST_CASE("set_num_threads") {
  const int automatic = num_threads();
  CHECK(automatic >= 1);
  set_num_threads(6);
  CHECK(num_threads() == 6);
  set_num_threads(0);
  CHECK(num_threads() == automatic);
  REQUIRE_THROWS_AS(set_num_threads(-1), ValueError);
  REQUIRE_THROWS_WITH(set_num_threads(-1), "set_num_threads: -1 is negative");
}

TEST_CASE("the default number of threads") {
  const char* const before = std::getenv("OMP_NUM_THREADS");
  const std::string saved = before ? before : "";
  setenv("OMP_NUM_THREADS", "5", 1);
  CHECK(detail::default_threads() == 5);
  setenv("OMP_NUM_THREADS", "3,2", 1);
  CHECK(detail::default_threads() == 3);
  unsetenv("OMP_NUM_THREADS");
  const int automatic = detail::default_threads();
  CHECK(automatic >= 1);
  for (const char* useless : {"0", "-2", "many", ""}) {
    setenv("OMP_NUM_THREADS", useless, 1);
    CHECK(detail::default_threads() == automatic);
  }
  before ? setenv("OMP_NUM_THREADS", saved.c_str(), 1) : unsetenv("OMP_NUM_THREADS");
}

TEST_CASE("the cgroup's quota") {
  const std::filesystem::path root =
      std::filesystem::temp_directory_path() / ("tutti_cgroup_" + std::to_string(getpid()));
  const auto write = [&](const std::string& name, const std::string& text) {
    std::filesystem::create_directories((root / name).parent_path());
    std::ofstream(root / name) << text;
  };
  const auto cpus = [&](const std::string& membership) {
    write("membership", membership);
    return detail::cgroup_cpus(root / "membership", root);
  };
  CHECK(cpus("0::/\n") == 0);
  write("a/b/cpu.max", "150000 100000\n");
  write("a/cpu.max", "max 100000\n");
  CHECK(cpus("0::/a\n") == 0);
  CHECK(cpus("0::/a/b\n") == 2);
  CHECK(cpus("0::/a/b/not/visible/here\n") == 2);
  write("a/cpu.max", "100000 100000\n");
  CHECK(cpus("0::/a/b\n") == 1);  // a parent's limit holds too
  write("cpu/docker/cpu.cfs_quota_us", "300000\n");
  write("cpu/docker/cpu.cfs_period_us", "100000\n");
  CHECK(cpus("5:memory:/docker\n4:cpu,cpuacct:/docker\n") == 3);
  CHECK(cpus("4:cpuset:/docker\n") == 0);
  write("cpu/docker/cpu.cfs_quota_us", "-1\n");
  CHECK(cpus("4:cpu,cpuacct:/docker\n") == 0);
  CHECK(cpus("nonsense\n") == 0);
  CHECK(detail::cgroup_cpus(root / "no such file", root) == 0);
  std::filesystem::remove_all(root);
}
