// Graphs made by capturing a stream: the work is kept, and each launch enqueues it again.
#include "memory.h"
#include "report.h"
#include "stream.h"

using namespace emulator;

namespace {
// The handles own their graphs.
Graph& graph_of(cudaGraph_t handle) { return **reinterpret_cast<std::shared_ptr<Graph>*>(handle); }
}  // namespace

extern "C" {

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode) {
  const Lock lock(mutex());
  const auto stream = stream_of(handle);
  if (!stream || handle == nullptr || stream->capture) return set_error(cudaErrorInvalidResourceHandle);
  stream->capture = std::make_shared<Graph>();
  stream->capture->origin = stream;
  stream->capture->streams.insert(stream.get());
  return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* status) {
  const Lock lock(mutex());
  const auto stream = stream_of(handle);
  if (!stream) return set_error(cudaErrorInvalidResourceHandle);
  *status = !stream->capture          ? cudaStreamCaptureStatusNone
            : stream->capture->broken ? cudaStreamCaptureStatusInvalidated
                                      : cudaStreamCaptureStatusActive;
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* graph) {
  const Lock lock(mutex());
  *graph = nullptr;
  const auto stream = stream_of(handle);
  if (!stream || !stream->capture || stream->capture->origin != stream)
    return set_error(cudaErrorStreamCaptureUnmatched);
  const std::shared_ptr<Graph> captured = stream->capture;
  for (Stream* one : captured->streams) one->capture = nullptr;
  captured->origin = nullptr;
  if (captured->broken) return set_error(cudaErrorStreamCaptureInvalidated);
  if (!captured->unjoined.empty()) return set_error(cudaErrorStreamCaptureUnjoined);
  *graph = reinterpret_cast<cudaGraph_t>(new std::shared_ptr<Graph>(captured));
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long) {
  const Lock lock(mutex());
  *exec =
      reinterpret_cast<cudaGraphExec_t>(new std::shared_ptr<Graph>(*reinterpret_cast<std::shared_ptr<Graph>*>(graph)));
  return cudaSuccess;
}
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  const Lock lock(mutex());
  if (nodes) return set_error(cudaErrorNotSupported);
  *count = graph_of(graph).work.size();
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t handle) {
  const Lock lock(mutex());
  const auto graph = *reinterpret_cast<std::shared_ptr<Graph>*>(exec);
  ++counters().graphs;
  return enqueue(handle, "cudaGraphLaunch", [graph] {
    for (const Work& work : graph->work) work();
  });
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete reinterpret_cast<std::shared_ptr<Graph>*>(graph);
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  delete reinterpret_cast<std::shared_ptr<Graph>*>(exec);
  return cudaSuccess;
}

}  // extern "C"
