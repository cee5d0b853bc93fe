// Pieces of work on several processes of one thread each: a training run of a small model does not need more, and
// processes share no generator and no allocator.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace comparison {

/// Calls work(i) for every i in [0, n) in one of `workers` child processes, in the order of i; done(finished) is called
/// here now and then. Returns those i whose work threw (its message went to stderr) or whose process died. The children
/// die with this process. With another default device than the CPU all is done here, one piece after another: CUDA does
/// not outlive a fork, and the device works on one piece at a time.
std::vector<int64_t> run_in_processes(int64_t n, int workers, const std::function<void(int64_t)>& work,
                                      const std::function<void(const std::vector<bool>& finished)>& done);

}  // namespace comparison
