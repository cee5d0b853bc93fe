// Named spans of a thread's work, for a profiler that shows them above the kernels (NVTX: Nsight Systems, Nsight
// Compute).
#pragma once
#include <atomic>
#include <concepts>
#include <string>

#pragma GCC visibility push(default)
namespace tutti {

/// With true, modules, gradients ("block.ffn: gelu backward"), optimizers and clipping open a ProfilerRange each. False
/// at first, unless TUTTI_NVTX is 1. DeviceError in a build without CUDA, which has no NVTX.
void set_profiler_ranges(bool on);

namespace detail {
extern constinit std::atomic<signed char> ranges;  // negative: the environment was not asked yet
bool ask_for_ranges();
}  // namespace detail
inline bool profiler_ranges() {
  const signed char on = detail::ranges.load(std::memory_order_relaxed);
  return on > 0 || (on < 0 && detail::ask_for_ranges());
}

/// `const ProfilerRange range("data");`: from here to the end of the scope. Costs a load while ranges are off. A name
/// that is dear to make is given as a function that makes it.
class ProfilerRange {
 public:
  explicit ProfilerRange(const char* name) : open_(profiler_ranges()) {
    if (open_) [[unlikely]]
      open(name);
  }
  template <std::invocable F>
  explicit ProfilerRange(const F& name) : open_(profiler_ranges()) {
    if (open_) [[unlikely]]
      open(std::string(name()).c_str());
  }
  ~ProfilerRange() {
    if (open_) [[unlikely]]
      close();
  }
  ProfilerRange(const ProfilerRange&) = delete;
  ProfilerRange& operator=(const ProfilerRange&) = delete;

 private:
  static void open(const char* name);
  static void close();
  const bool open_;
};

}  // namespace tutti
#pragma GCC visibility pop
