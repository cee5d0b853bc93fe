// For backends/cuda only: work that is recorded as a CUDA graph (core/cuda_graph.h).
#pragma once
#include <cuda_runtime_api.h>

#include <cstddef>

namespace tutti::cuda {

/// What this thread records, if it does. Other threads work on as usual: the capture has a stream of its own.
struct Capture {
  cudaStream_t stream = nullptr;  // null: it does not
  int device = 0;
  char* uploads = nullptr;  // pinned memory that replays read, as long as the graph is
  size_t used = 0;
};
Capture& captured();
/// DeviceError "CudaGraph: the step <what>" if this thread records.
void refuse_in_capture(const char* what);
inline constexpr const char* waits =
    "waits for the device (item(), printing, a copy to the host), which a replay could not do";
/// True if this thread records: cudaFree(p), which would break the capture, happens when that is over.
bool freed_after_capture(void* p);
/// The device's ordinary stream, also while this thread records.
cudaStream_t main_stream();

// Backend::recorder.
void begin_capture(int index);
void* end_capture(int index);
void discard_capture(int index);
void replay(int index, void* graph);
void drop(int index, void* graph);

/// A copy of host memory that the graph keeps and its replays read.
const void* kept_for_replays(const void* host, size_t bytes);

}  // namespace tutti::cuda
