#include "tutti/backends/cuda/runtime.h"

#include <array>
#include <atomic>
#include <mutex>

#include "tutti/backends/cuda/capture.h"
#include "tutti/backends/cuda/complaint.h"
#include "tutti/backends/cuda/select.h"
#include "tutti/core/backend.h"
#include "tutti/core/error.h"
#ifdef TUTTI_CUDA_EMULATED
#include "emulator.h"
#endif

namespace tutti::cuda {
namespace {

constexpr int most_devices = 128;  // Device::index has 7 bits
thread_local int current = 0;
thread_local Capture capture;

struct PerDevice {
  std::once_flag once;
  cudaStream_t own = nullptr;
  std::atomic<cudaStream_t> stream = nullptr;  // our own, or the user's while he lends one
  cudaEvent_t changed = nullptr;
  int multiprocessors = 0;
};

/// Never destroyed: static tensors give back late.
PerDevice& of(int index) {
  static auto& devices = *new std::array<PerDevice, most_devices>;
  PerDevice& d = devices[static_cast<size_t>(index)];
  std::call_once(d.once, [&] {
    check(cudaSetDevice(index), "cudaSetDevice");
    check(cudaStreamCreateWithFlags(&d.own, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    check(cudaEventCreateWithFlags(&d.changed, cudaEventDisableTiming), "cudaEventCreateWithFlags");
    d.stream = d.own;
    check(cudaDeviceGetAttribute(&d.multiprocessors, cudaDevAttrMultiProcessorCount, index), "cudaDeviceGetAttribute");
    check(cudaSetDevice(current), "cudaSetDevice");
  });
  return d;
}

}  // namespace

int count() {
  // Whatever the error is (no driver, one too old), there is no device to use.
  static const int n = [] {
    int found = 0;
    return cudaGetDeviceCount(&found) == cudaSuccess ? found < most_devices ? found : most_devices : 0;
  }();
  return n;
}

void select(int index) {
  if (current == index) return;
  check(cudaSetDevice(index), "cudaSetDevice");
  current = index;
}

Selected::Selected(int index) : before_(current) { select(index); }
Selected::~Selected() {
  if (current == before_) return;
  (void)cudaSetDevice(before_);
  current = before_;
}

Capture& captured() { return capture; }
void refuse_in_capture(const char* what) {
  if (capture.stream) throw DeviceError(message("CudaGraph: the step ", std::string_view(what)));
}

int device() { return current; }
cudaStream_t main_stream() { return of(current).stream; }
cudaStream_t stream() { return capture.stream && capture.device == current ? capture.stream : main_stream(); }
int multiprocessors() { return of(current).multiprocessors; }
size_t most_shared_bytes() {
  int bytes = 0;
  check(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, current), "cudaDeviceGetAttribute");
  return static_cast<size_t>(bytes);
}

void* use_stream(int index, void* stream) {
  const Selected there(index);
  refuse_in_capture("changes the device's stream");
  PerDevice& d = of(index);
  const cudaStream_t before = d.stream, next = stream ? static_cast<cudaStream_t>(stream) : d.own;
  if (next == before) return before;
  // An event that another device's stream, or one that is gone, cannot record.
  check(cudaEventRecord(d.changed, next), "CudaStreamScope: the stream given is none of this device's");
  check(cudaEventRecord(d.changed, before), "cudaEventRecord");
  check(cudaStreamWaitEvent(next, d.changed, 0), "cudaStreamWaitEvent");
  d.stream = next;
  return before;
}

void check(cudaError_t e, const char* what) {
  if (e == cudaSuccess) return;
  (void)cudaGetLastError();  // one report is enough
  std::string more;
#ifdef TUTTI_CUDA_EMULATED
  if (more = emulator::report(); !more.empty()) more = " (" + more + ")";
  emulator::clear_report();
#endif
  throw DeviceError(message("cuda: ", what, ": ", std::string_view(cudaGetErrorString(e)), std::string_view(more)));
}

void wait() {
  refuse_in_capture(waits);
  Complaint complaint;
  const bool asked = fetch_complaint(&complaint);
  check(cudaStreamSynchronize(stream()), "cudaStreamSynchronize");
  if (asked) throw_complaint(complaint);
  detail::waited({DeviceType::cuda, static_cast<int8_t>(current)});
}

}  // namespace tutti::cuda
