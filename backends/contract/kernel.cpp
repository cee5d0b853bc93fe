#include "tutti/backends/contract/kernel.h"

#include <atomic>
#include <cstdlib>
#include <string>

#include "tutti/core/backend.h"
#include "tutti/core/error.h"

namespace tutti {
namespace isa {
namespace {

std::atomic<int> chosen{-1};

/// The compiler's own detection asks the OS (XGETBV) whether it saves the registers.
bool cpu_has(std::string_view isa) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (isa == "avx512")
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512cd");
  if (isa == "avx2") return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
  return isa == "sse2" || isa == "neon64";
}

int detect() {
  int want = supported();
  if (const char* text = std::getenv("TUTTI_ISA"); text && *text) {
    int named = -1;
    std::string known;
    for (size_t i = 0; i < names.size(); ++i) {
      if (std::string_view(text) == names[i]) named = static_cast<int>(i);
      known += message(i ? ", " : "", names[i]);
    }
    if (named < 0) throw ValueError(message("TUTTI_ISA=", text, ": expected one of ", known));
    if (named > want)
      throw ValueError(
          message("TUTTI_ISA=", text, ": this CPU supports only up to ", names[static_cast<size_t>(want)]));
    want = named;
  }
  chosen.store(want, std::memory_order_relaxed);
  return want;
}

}  // namespace

int supported() {
  int best = -1;
  for (size_t i = 0; i < names.size(); ++i)
    if (cpu_has(names[i])) best = static_cast<int>(i);
  if (best < 0) throw ValueError(message("this build of Tutti needs a CPU with ", names[0]));
  return best;
}

int level(config::CpuTargets) {
  const int l = chosen.load(std::memory_order_relaxed);
  return l >= 0 ? l : detect();
}

void force(int wanted) {
  if (wanted < 0 || wanted > supported())
    throw ValueError(message("isa::force: level ", wanted, " of 0..", supported(), " that this CPU supports"));
  chosen.store(wanted, std::memory_order_relaxed);
}

}  // namespace isa

namespace detail {
void enter(Device device) { backend(device).select(device.index); }
void missing(std::string_view kernel, Device device) {
  if (device.type == DeviceType::cuda && !config::cuda)
    throw DeviceError(message(kernel, ": this build has no CUDA backend"));
  throw DeviceError(message(kernel, ": there is no kernel for ", device));
}
}  // namespace detail
}  // namespace tutti
