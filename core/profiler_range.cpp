#include "tutti/core/profiler_range.h"

#include "tutti/config.h"
#include "tutti/core/detail/backends.h"
#include "tutti/core/detail/environment.h"
#include "tutti/core/error.h"

namespace tutti {

constinit std::atomic<signed char> detail::ranges = -1;

void set_profiler_ranges(bool on) {
  if (on && !config::cuda)
    throw DeviceError(
        "profiler ranges: they are NVTX's, and this build of Tutti has no CUDA backend (configure with "
        "-DTUTTI_CUDA=ON)");
  detail::ranges = on;
}

bool detail::ask_for_ranges() {
  const bool on = environment_word("TUTTI_NVTX", {"0", "1"}) == 1;
  set_profiler_ranges(on);
  return on;
}

void ProfilerRange::open(const char* name) {
  if constexpr (config::cuda) cuda_backend.open_range(name);
}
void ProfilerRange::close() {
  if constexpr (config::cuda) cuda_backend.close_range();
}

}  // namespace tutti
