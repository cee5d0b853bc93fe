// Allocation and copies. Device memory ends where it was asked to; pinned host memory is read and written when the
// stream comes to it, pageable memory during the call, as on a GPU.
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>

#include "memory.h"
#include "recorder.h"
#include "report.h"
#include "stream.h"

using namespace emulator;

namespace {

std::map<char*, size_t>& pinned_ranges() {
  static auto& one = *new std::map<char*, size_t>;
  return one;
}
bool pinned(const void* v, size_t bytes) {
  char* p = static_cast<char*>(const_cast<void*>(v));
  auto range = pinned_ranges().upper_bound(p);
  if (range == pinned_ranges().begin()) return false;
  --range;
  return p + bytes <= range->first + range->second;
}
bool on_device(const void* p) { return device_of(p) >= 0; }

void copy(void* to, const void* from, size_t bytes) {
  if (on_device(to) && !inside_block("a copy writes", to, bytes)) return;
  if (on_device(from) && !inside_block("a copy reads", from, bytes)) return;
  const Open open(every_device);
  std::memmove(to, from, bytes);
  if (!recorder || !on_device(to)) return;
  if (on_device(from))
    recorder->host_copy(static_cast<char*>(to), static_cast<const char*>(from), bytes);
  else
    recorder->host_write(static_cast<char*>(to), bytes);
}
void set(void* p, int value, size_t bytes) {
  if (!inside_block("cudaMemset writes", p, bytes)) return;
  const Open open(every_device);
  std::memset(p, value, bytes);
  if (recorder) recorder->host_write(static_cast<char*>(p), bytes);
}
cudaError_t wrong_kind() {
  note("cudaMemcpy: its kind is not where the memory is");
  return set_error(cudaErrorInvalidValue);
}
bool kind_fits(cudaMemcpyKind kind, const void* to, const void* from) {
  switch (kind) {
    case cudaMemcpyHostToDevice:
      return on_device(to) && !on_device(from);
    case cudaMemcpyDeviceToHost:
      return !on_device(to) && on_device(from);
    case cudaMemcpyDeviceToDevice:
      return on_device(to) && on_device(from);
    case cudaMemcpyHostToHost:
      return !on_device(to) && !on_device(from);
    default:
      return true;
  }
}
cudaError_t take(void** p, size_t bytes, bool at_once) {
  *p = nullptr;
  if (breaks_capture()) return set_error(cudaErrorStreamCaptureUnsupported);
  if (bytes == 0) return cudaSuccess;
  ++counters().allocations;
  *p = take_address(current_device(), bytes);
  if (!*p) return set_error(cudaErrorMemoryAllocation);
  if (at_once) begin_life(*p);
  return cudaSuccess;
}
cudaError_t unknown(const char* what) {
  note(std::string(what) + " of what is no device memory, or has been freed");
  return set_error(cudaErrorInvalidValue);
}

}  // namespace

#define LOCK const Lock lock_(mutex())

extern "C" {

cudaError_t cudaMalloc(void** p, size_t bytes) {
  LOCK;
  return take(p, bytes, true);
}
cudaError_t cudaFree(void* p) {  // waits for the device, as on a GPU
  LOCK;
  if (!p) return cudaSuccess;
  if (breaks_capture()) return set_error(cudaErrorStreamCaptureUnsupported);
  wait_for_everything();
  return give_address(p) ? cudaSuccess : unknown("cudaFree");
}
cudaError_t cudaMallocAsync(void** p, size_t bytes, cudaStream_t stream) {
  LOCK;
  if (const cudaError_t error = take(p, bytes, false)) return error;
  return *p ? enqueue(stream, "cudaMallocAsync", [v = *p] { begin_life(v); }) : cudaSuccess;
}
cudaError_t cudaFreeAsync(void* p, cudaStream_t stream) {
  LOCK;
  if (!p) return cudaSuccess;
  if (breaks_capture()) return set_error(cudaErrorStreamCaptureUnsupported);
  if (!is_taken(p)) return unknown("cudaFreeAsync");
  return enqueue(stream, "cudaFreeAsync", [p] {
    if (!give_address(p)) note("cudaFreeAsync of memory that has been freed");
  });
}
cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  LOCK;
  *free = bytes_free(current_device());
  *total = config().memory;
  return cudaSuccess;
}

cudaError_t cudaMallocHost(void** p, size_t bytes) {
  LOCK;
  *p = std::aligned_alloc(256, (bytes + 256) / 256 * 256);
  pinned_ranges()[static_cast<char*>(*p)] = bytes;
  return *p ? cudaSuccess : set_error(cudaErrorMemoryAllocation);
}
cudaError_t cudaHostAlloc(void** p, size_t bytes, unsigned) { return cudaMallocHost(p, bytes); }
cudaError_t cudaFreeHost(void* p) {
  LOCK;
  if (!p) return cudaSuccess;
  wait_for_everything();
  if (!pinned_ranges().erase(static_cast<char*>(p))) return unknown("cudaFreeHost");
  std::free(p);
  return cudaSuccess;
}
cudaError_t cudaHostRegister(void* p, size_t bytes, unsigned) {
  LOCK;
  pinned_ranges()[static_cast<char*>(p)] = bytes;
  return cudaSuccess;
}
cudaError_t cudaHostUnregister(void* p) {
  LOCK;
  wait_for_everything();
  return pinned_ranges().erase(static_cast<char*>(p)) ? cudaSuccess : unknown("cudaHostUnregister");
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* p) {
  LOCK;
  const int device = device_of(p);
  *attributes = {};
  attributes->type = device >= 0    ? cudaMemoryTypeDevice
                     : pinned(p, 1) ? cudaMemoryTypeHost
                                    : cudaMemoryTypeUnregistered;
  attributes->device = device >= 0 ? device : current_device();
  if (device >= 0)
    attributes->devicePointer = const_cast<void*>(p);
  else
    attributes->hostPointer = const_cast<void*>(p);
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t handle) {
  LOCK;
  if (!kind_fits(kind, to, from)) return wrong_kind();
  const auto stream = stream_of(handle);
  const bool pageable_source = !on_device(from) && !pinned(from, bytes),
             pageable_target = !on_device(to) && !pinned(to, bytes);
  if (stream && stream->capture && (pageable_source || pageable_target)) {
    stream->capture->broken = true;
    return set_error(cudaErrorStreamCaptureUnsupported);
  }
  if (pageable_source) {  // staged before the call returns
    const auto staged = std::make_shared<std::string>(static_cast<const char*>(from), bytes);
    ++counters().copies;
    const cudaError_t error = enqueue(handle, "cudaMemcpyAsync", [=] { copy(to, staged->data(), staged->size()); });
    if (error || !pageable_target) return error;
  } else {
    const cudaError_t error = enqueue(handle, "cudaMemcpyAsync", [=] {
      ++counters().copies;
      copy(to, from, bytes);
    });
    if (error || !pageable_target) return error;
  }
  wait_for({stream, stream->put});
  return pending_error();
}
cudaError_t cudaMemcpyPeerAsync(void* to, int, const void* from, int, size_t bytes, cudaStream_t stream) {
  return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream);
}
cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t rows,
                              cudaMemcpyKind kind, cudaStream_t stream) {
  LOCK;
  for (size_t r = 0; r < rows; ++r) {
    const cudaError_t error = cudaMemcpyAsync(static_cast<char*>(to) + r * to_pitch,
                                              static_cast<const char*>(from) + r * from_pitch, width, kind, stream);
    if (error) return error;
  }
  return cudaSuccess;
}
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes,
                       cudaMemcpyKind kind) {  // other, non-blocking streams may still be at work
  LOCK;
  if (!kind_fits(kind, to, from)) return wrong_kind();
  if (breaks_capture()) return set_error(cudaErrorStreamCaptureUnsupported);
  ++counters().copies;
  wait_for_blocking_streams();
  copy(to, from, bytes);
  return pending_error();
}
cudaError_t cudaMemsetAsync(void* p, int value, size_t bytes, cudaStream_t stream) {
  LOCK;
  return enqueue(stream, "cudaMemsetAsync", [=] { set(p, value, bytes); });
}

}  // extern "C"

namespace emulator {

HostAccess::HostAccess() : open_(new Open(every_device)) {}
HostAccess::~HostAccess() { delete static_cast<Open*>(open_); }

void part(void* p, size_t bytes, bool in_use, cudaStream_t stream) {
  const Lock lock(mutex());
  (void)enqueue(stream, "emulator::part", [=] { in_use ? begin_part(p, bytes) : end_part(p); });
}

}  // namespace emulator
