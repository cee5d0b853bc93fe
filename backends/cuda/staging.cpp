#include "tutti/backends/cuda/staging.h"

#include <array>
#include <bit>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

#include "tutti/backends/cuda/capture.h"
#include "tutti/backends/cuda/runtime.h"
#include "tutti/backends/cuda/select.h"
#include "tutti/core/error.h"

namespace tutti::cuda {
namespace {

char* pinned(size_t bytes) {
  void* p = nullptr;
  check(cudaMallocHost(&p, bytes), "cudaMallocHost");
  return static_cast<char*>(p);
}
cudaEvent_t new_event() {
  cudaEvent_t e = nullptr;
  check(cudaEventCreateWithFlags(&e, cudaEventDisableTiming), "cudaEventCreateWithFlags");
  return e;
}

/// A ring for the many small uploads: of lists, of a few numbers. Its parts are used in turn; one that is come to again
/// has been read long ago, or the host waits until it has.
struct Ring {
  static constexpr size_t part = size_t{64} << 10, parts = 16;
  std::mutex mutex;
  char* memory = nullptr;
  std::array<cudaEvent_t, parts> read{};  // the last copy from the part
  size_t current = 0, used = 0;

  void copy(void* to, const void* from, size_t bytes) {
    const std::lock_guard lock(mutex);
    if (!memory) memory = pinned(part * parts);
    if (used + bytes > part) {
      if (!read[current]) read[current] = new_event();
      check(cudaEventRecord(read[current], stream()), "cudaEventRecord");
      current = (current + 1) % parts;
      used = 0;
      if (read[current]) check(cudaEventSynchronize(read[current]), "cudaEventSynchronize");
    }
    char* const here = memory + current * part + used;
    std::memcpy(here, from, bytes);
    check(cudaMemcpyAsync(to, here, bytes, cudaMemcpyHostToDevice, stream()), "cudaMemcpyAsync");
    used += (bytes + 255) / 256 * 256;
  }
};

/// A stream for batches that are to come. Each copy has pinned memory of its own, which is used again when it is over.
struct Copies {
  struct Copy {
    char* memory = nullptr;
    size_t bytes = 0;
    cudaEvent_t over = nullptr;
    uint64_t number = 0;
  };
  static constexpr size_t most = 16;
  std::mutex mutex;
  cudaStream_t stream = nullptr;
  cudaEvent_t launched = nullptr;
  uint64_t count = 0;
  std::vector<Copy> copies;

  /// Pinned memory that nothing reads any more.
  Copy& idle(size_t bytes) {
    Copy* oldest = nullptr;
    for (Copy& c : copies) {
      if (c.bytes >= bytes) {
        const cudaError_t e = cudaEventQuery(c.over);
        if (e == cudaSuccess) return c;
        (void)cudaGetLastError();  // (cudaErrorNotReady is no error)
      }
      if (!oldest || c.number < oldest->number) oldest = &c;
    }
    if (copies.size() < most) {
      copies.push_back({nullptr, 0, new_event(), 0});
      oldest = &copies.back();
    } else {
      check(cudaEventSynchronize(oldest->over), "cudaEventSynchronize");
    }
    if (oldest->bytes < bytes) {
      if (oldest->memory) check(cudaFreeHost(oldest->memory), "cudaFreeHost");
      oldest->memory = nullptr;
      oldest->bytes = 0;
      const size_t enough = std::bit_ceil(bytes);
      oldest->memory = pinned(enough);
      oldest->bytes = enough;
    }
    return *oldest;
  }

  uint64_t send(void* to, const void* from, size_t bytes) {
    const std::lock_guard lock(mutex);
    if (!stream) {
      check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
      launched = new_event();
    }
    Copy& c = idle(bytes);
    std::memcpy(c.memory, from, bytes);
    // Whatever had this memory before is done with it by then.
    check(cudaEventRecord(launched, main_stream()), "cudaEventRecord");
    check(cudaStreamWaitEvent(stream, launched, 0), "cudaStreamWaitEvent");
    check(cudaMemcpyAsync(to, c.memory, bytes, cudaMemcpyHostToDevice, stream), "cudaMemcpyAsync");
    check(cudaEventRecord(c.over, stream), "cudaEventRecord");
    return c.number = ++count;
  }

  void arrive(uint64_t number) {
    const std::lock_guard lock(mutex);
    for (const Copy& c : copies)  // one whose memory has another number by now is over
      if (c.number == number) check(cudaStreamWaitEvent(main_stream(), c.over, 0), "cudaStreamWaitEvent");
  }
};

/// Never destroyed: static tensors are late.
template <class T>
T& of(int index) {
  static std::mutex mutex;
  static auto& all = *new std::array<std::unique_ptr<T>, 128>;
  const std::lock_guard lock(mutex);
  auto& one = all[static_cast<size_t>(index)];
  if (!one) one = std::make_unique<T>();
  return *one;
}

/// Whether an asynchronous copy reads this memory when the stream comes to it: pinned memory, and all where the GPU
/// shares the CPU's page tables (Grace Hopper). Other memory is read during the call.
bool is_read_later(const void* host) {
  int shared_tables = 0;
  check(cudaDeviceGetAttribute(&shared_tables, cudaDevAttrPageableMemoryAccessUsesHostPageTables, device()),
        "cudaDeviceGetAttribute");
  if (shared_tables) return true;
  cudaPointerAttributes attributes{};
  if (cudaPointerGetAttributes(&attributes, host) == cudaSuccess) return attributes.type == cudaMemoryTypeHost;
  (void)cudaGetLastError();
  return false;
}

}  // namespace

void upload(void* device, const void* host, size_t bytes) {
  if (bytes == 0) return;
  if (captured().stream) {
    check(cudaMemcpyAsync(device, kept_for_replays(host, bytes), bytes, cudaMemcpyHostToDevice, stream()),
          "cudaMemcpyAsync");
    return;
  }
  if (bytes <= Ring::part) return of<Ring>(cuda::device()).copy(device, host, bytes);
  check(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, stream()), "cudaMemcpyAsync");
  if (is_read_later(host)) check(cudaStreamSynchronize(stream()), "cudaStreamSynchronize");
}

uint64_t send(int index, void* to, const void* from, size_t bytes) {
  refuse_in_capture("takes a batch from a loader; take it before, and copy it into a tensor that the step reads");
  const Selected there(index);
  return bytes ? of<Copies>(index).send(to, from, bytes) : 0;
}

void arrive(int index, uint64_t sent) {
  refuse_in_capture("takes a batch from a loader; take it before, and copy it into a tensor that the step reads");
  const Selected there(index);
  if (sent) of<Copies>(index).arrive(sent);
}

}  // namespace tutti::cuda
