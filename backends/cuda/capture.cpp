#include "tutti/backends/cuda/capture.h"

#include <cstring>
#include <utility>
#include <vector>

#include "tutti/backends/cuda/complaint.h"
#include "tutti/backends/cuda/runtime.h"
#include "tutti/backends/cuda/select.h"
#include "tutti/core/error.h"

namespace tutti::cuda {
namespace {

/// For lists of parameters and the like: what a step uploads is the same in every replay.
constexpr size_t most_uploads = size_t{4} << 20;

struct Graph {
  cudaGraphExec_t work;
  char* uploads;
};

thread_local std::vector<void*> freed;  // while this thread records

/// The capture is over: its stream goes, and what could not go before. The pinned memory is the caller's.
char* leave() {
  const Capture over = std::exchange(captured(), {});
  (void)cudaStreamDestroy(over.stream);
  for (void* p : std::exchange(freed, {})) (void)cudaFree(p);
  return over.uploads;
}

}  // namespace

void begin_capture(int index) {
  const Selected there(index);
  prepare_checks();
  wait();  // so that nothing before the capture still uses memory that it is given
  Capture capture;
  capture.device = index;
  check(cudaMallocHost(reinterpret_cast<void**>(&capture.uploads), most_uploads), "cudaMallocHost");
  try {
    check(cudaStreamCreateWithFlags(&capture.stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    check(cudaStreamBeginCapture(capture.stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  } catch (...) {
    if (capture.stream) (void)cudaStreamDestroy(capture.stream);
    (void)cudaFreeHost(capture.uploads);
    throw;
  }
  captured() = capture;
}

void* end_capture(int index) {
  const Selected there(index);
  cudaGraph_t recorded = nullptr;
  check(cudaStreamEndCapture(captured().stream, &recorded), "cudaStreamEndCapture");
  cudaGraphExec_t work = nullptr;
  const cudaError_t made = cudaGraphInstantiate(&work, recorded, 0);
  (void)cudaGraphDestroy(recorded);
  check(made, "cudaGraphInstantiate");
  return new Graph{work, leave()};
}

void discard_capture(int index) {
  if (!captured().stream) return;  // begin_capture had failed
  const Selected there(index);
  cudaGraph_t recorded = nullptr;
  (void)cudaStreamEndCapture(captured().stream, &recorded);
  if (recorded) (void)cudaGraphDestroy(recorded);
  (void)cudaGetLastError();
  (void)cudaFreeHost(leave());
}

void replay(int index, void* graph) {
  const Selected there(index);
  check(cudaGraphLaunch(static_cast<Graph*>(graph)->work, stream()), "cudaGraphLaunch");
  end_replay();
}

void drop(int index, void* graph) {
  const Selected there(index);
  auto* one = static_cast<Graph*>(graph);
  (void)cudaStreamSynchronize(main_stream());  // (not wait(), which may throw what kernels complained of)
  (void)cudaGraphExecDestroy(one->work);
  (void)cudaFreeHost(one->uploads);
  delete one;
}

bool freed_after_capture(void* p) {
  if (!captured().stream) return false;
  freed.push_back(p);
  return true;
}

const void* kept_for_replays(const void* host, size_t bytes) {
  Capture& capture = captured();
  if (bytes > most_uploads - capture.used)
    throw DeviceError(message("CudaGraph: the step copies more than ", most_uploads >> 20,
                              " MB of host memory to the device; copy it before, into tensors that the step reads"));
  char* kept = capture.uploads + capture.used;
  std::memcpy(kept, host, bytes);
  capture.used += (bytes + 255) / 256 * 256;
  if (capture.used > most_uploads) capture.used = most_uploads;
  return kept;
}

}  // namespace tutti::cuda
