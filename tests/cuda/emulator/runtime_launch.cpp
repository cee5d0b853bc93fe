// Launches: what a GPU would refuse at once, and the running of a grid when its turn comes.
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>

#include "launch.h"
#include "memory.h"
#include "recorder.h"
#include "report.h"
#include "running.h"
#include "shared_memory.h"
#include "stream.h"

namespace emulator {
namespace {

constexpr size_t shared_without_opt_in = 48 * 1024;

std::map<const void*, size_t>& opted_in() {
  static auto& one = *new std::map<const void*, size_t>;
  return one;
}
size_t shared_limit(const void* kernel) {
  const auto found = opted_in().find(kernel);
  return found == opted_in().end() ? shared_without_opt_in : found->second;
}

const char* refusal(const Launch& l) {
  const uint64_t threads = uint64_t{l.block.x} * l.block.y * l.block.z;
  if (threads == 0) return "a block of no threads";
  if (threads > 1024 || l.block.z > 64) return "a block of more than 1024 threads, or 64 along z";
  if (l.grid.x == 0 || l.grid.y == 0 || l.grid.z == 0) return "a grid of no blocks";
  if (l.grid.x > 0x7fffffffu || l.grid.y > 65535 || l.grid.z > 65535)
    return "a grid of more than 65535 blocks along y or z";
  if (l.shared > shared_limit(l.kernel))
    return "more dynamic shared memory than the kernel has been allowed (48 KB at first)";
  return nullptr;
}

void run(const Launch& l, int device) {
  ++counters().launches;
  const Open open(device);
  catch_wild_accesses();
  if (recorder) recorder->launch();
  begin_shared(l.shared, opted_in().count(l.kernel) != 0);
  running.device = device;
  running.parameters = static_cast<const char*>(l.arguments);
  running.parameters_end = running.parameters + l.bytes;
  struct Call {
    const Launch* launch;
  } call{&l};
  const bool ok = run_grid(
      l.grid, l.block,
      [](const void* c) {
        const Launch& one = *static_cast<const Call*>(c)->launch;
        one.call(one.kernel, one.arguments);
      },
      &call);
  end_shared();
  if (!ok) set_error(cudaErrorLaunchFailure);
}

}  // namespace

void launch(const Launch& asked, cudaStream_t handle) {
  const Lock lock(mutex());
  if (const char* why = refusal(asked)) {
    note(std::string("launch refused: ") + why);
    set_error(cudaErrorInvalidConfiguration);
    return;
  }
  const auto stream = stream_of(handle);
  if (stream && stream->device != current_device()) {
    note("launch on a stream of device " + std::to_string(stream->device) + " while device " +
         std::to_string(current_device()) + " is selected");
    set_error(cudaErrorInvalidResourceHandle);
    return;
  }
  const std::shared_ptr<void> arguments(std::aligned_alloc(64, (asked.bytes + 63) / 64 * 64), std::free);
  std::memcpy(arguments.get(), asked.arguments, asked.bytes);
  Launch later = asked;
  later.arguments = arguments.get();
  (void)enqueue(handle, "launch", [later, arguments, device = current_device()] { run(later, device); });
}

}  // namespace emulator

using namespace emulator;

extern "C" {

cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value) {
  const Lock lock(mutex());
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
  if (value < 0 || static_cast<size_t>(value) > config().shared) return set_error(cudaErrorInvalidValue);
  opted_in()[kernel] = static_cast<size_t>(value);
  return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void*, int threads, size_t) {
  *blocks = threads > 0 ? 2048 / threads : 0;
  return cudaSuccess;
}

}  // extern "C"
