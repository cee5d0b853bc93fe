// How many CPUs this process may really use: what parallel_for starts with.
#pragma once
#include <string>

#pragma GCC visibility push(default)
namespace tutti::detail {

/// OMP_NUM_THREADS if it is a positive number (of a list, the first), else the CPUs of the affinity mask, but no more
/// than the cgroup's quota rounded up.
int default_threads();

/// The quota of the cgroup (version 1 or 2) that `membership`, a file like /proc/self/cgroup, names under `root`
/// (/sys/fs/cgroup), in CPUs rounded up: the smallest on the way to the root. 0: none.
int cgroup_cpus(const std::string& membership, const std::string& root);

}  // namespace tutti::detail
#pragma GCC visibility pop
