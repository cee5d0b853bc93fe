#include "tutti/core/profiler_range.h"

#include <cstdlib>
#include <string_view>

#include "tutti/config.h"
#include "tutti/core/backend.h"
#include "tutti/core/error.h"

namespace tutti {

extern const Backend cuda_backend;  // in a build that has it
constinit std::atomic<signed char> detail::ranges = -1;

void set_profiler_ranges(bool on) {
  if (on && !config::cuda)
    throw DeviceError(
        "profiler ranges: they are NVTX's, and this build of Tutti has no CUDA backend (configure with "
        "-DTUTTI_CUDA=ON)");
  detail::ranges = on;
}

bool detail::ask_for_ranges() {
  const char* wanted = std::getenv("TUTTI_NVTX");
  const bool on = wanted && *wanted && std::string_view(wanted) != "0";
  if (on && std::string_view(wanted) != "1") throw ValueError(message("TUTTI_NVTX=", wanted, ": expected 0 or 1"));
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
