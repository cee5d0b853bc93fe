#include "tutti/core/detail/cpu_count.h"

#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <thread>

namespace tutti::detail {
namespace {

/// quota / period of one cgroup, rounded up; 0 without a limit.
int quota(const std::string& folder, bool version2) {
  double limit = 0, period = 0;
  if (version2) {
    std::ifstream(folder + "/cpu.max") >> limit >> period;  // "max 100000" without a limit: nothing is read
  } else {
    std::ifstream(folder + "/cpu.cfs_quota_us") >> limit;  // -1 without a limit
    std::ifstream(folder + "/cpu.cfs_period_us") >> period;
  }
  if (!(limit > 0 && period > 0)) return 0;
  return static_cast<int>(std::clamp((limit + period - 1) / period, 1.0, 1e6));
}

int smaller(int a, int b) { return a == 0 ? b : b == 0 ? a : std::min(a, b); }

int affinity_cpus() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));  // more CPUs than a cpu_set_t holds
}

}  // namespace

int cgroup_cpus(const std::string& membership, const std::string& root) {
  int cpus = 0;
  std::ifstream file(membership);
  for (std::string line; std::getline(file, line);) {  // "0::/user.slice" or "4:cpu,cpuacct:/docker/1f3a"
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const bool version2 = controllers == ",,";
    if (!version2 && controllers.find(",cpu,") == std::string::npos) continue;
    std::string path = line.substr(second + 1);
    if (path == "/") path.clear();
    for (;;) {  // a container often sees its own cgroup as the root, whatever path it is told
      cpus = smaller(cpus, quota(root + (version2 ? "" : "/cpu") + path, version2));
      if (path.empty()) break;
      path.resize(std::min(path.size(), path.rfind('/') == std::string::npos ? 0 : path.rfind('/')));
    }
  }
  return cpus;
}

int default_threads() {
  if (const char* text = std::getenv("OMP_NUM_THREADS")) {
    const long n = std::strtol(text, nullptr, 10);
    if (n > 0) return static_cast<int>(std::min(n, 1'000'000L));
  }
  return smaller(affinity_cpus(), cgroup_cpus("/proc/self/cgroup", "/sys/fs/cgroup"));
}

}  // namespace tutti::detail
