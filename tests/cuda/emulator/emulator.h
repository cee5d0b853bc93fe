// What tests ask of the emulator: the order of threads, the faults it has found, what it has counted.
#pragma once
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace emulator {

/// In which order threads that could all go on do so: those of a block, of a warp after a collective, and blocks.
/// Random order also lets other streams go on whenever one does.
enum class Order { forward, reverse, random };

struct Config {
  Order order = Order::forward;
  uint64_t seed = 1;
  bool lazy = true;                   ///< streams work only when somebody waits for them
  int devices = 2;                    ///< what cudaGetDeviceCount says
  int multiprocessors = 2;            ///< few, so that grid-stride loops go round
  size_t memory = size_t{4} << 30;    ///< bytes of each device
  size_t shared = size_t{227} << 10;  ///< bytes of shared memory that a block may have, if its kernel has been allowed
};
/// Read once from the environment: TUTTI_EMULATOR_ORDER=forward|reverse|<seed>, TUTTI_EMULATOR_EAGER=1,
/// TUTTI_EMULATOR_DEVICES=n. May be changed between launches.
Config& config();

/// Which of the three builds this is: "plain", "sanitized" or "recorded".
const char* build();

/// The first fault since clear_report(), or "". A process that ends with one that nobody asked for exits with 70.
std::string report();
void clear_report();

struct Counters {
  uint64_t launches = 0;     ///< kernels started, those of graphs included
  uint64_t products = 0;     ///< of cuBLAS and cuBLASLt, which are kernels, too
  uint64_t graphs = 0;       ///< cudaGraphLaunch: one call of the host, however many kernels
  uint64_t host_waits = 0;   ///< calls that wait for the device: synchronize, copies to pageable memory, cudaFree
  uint64_t copies = 0;       ///< cudaMemcpy of all kinds
  uint64_t allocations = 0;  ///< cudaMalloc and cudaMallocAsync
  uint64_t threads = 0;      ///< CUDA threads run
  uint64_t barriers = 0;     ///< of a block
  uint64_t collectives = 0;  ///< of a warp
};
Counters& counters();

/// Device memory that is allocated now, of all devices: nothing, if a program has freed what it took.
size_t bytes_in_use();

/// While one lives, host code may touch device memory: for the few helpers of tests that must.
class HostAccess {
 public:
  HostAccess();
  ~HostAccess();
  HostAccess(const HostAccess&) = delete;
  HostAccess& operator=(const HostAccess&) = delete;

 private:
  void* open_;
};

/// For allocators that hand out parts of a cudaMalloc'ed segment: from now on only the parts in use are memory, each
/// with bounds of its own. Parts begin at multiples of 256 bytes and leave at least 32 unused bytes between them.
void divide(void* segment);
/// In the order of the stream: the part begins (filled with NaN) or ends.
void part(void* p, size_t bytes, bool in_use, cudaStream_t stream);

}  // namespace emulator
