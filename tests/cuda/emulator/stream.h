// Inside the emulator: streams, in which work waits until somebody waits for it; events; captures.
#pragma once
#include <cuda_runtime_api.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <vector>

namespace emulator {

using Work = std::function<void()>;
struct Stream;

/// A point of a stream: all that was enqueued before it.
struct Moment {
  std::shared_ptr<Stream> stream;
  uint64_t at = 0;
  bool passed() const;
};

/// What a capture collects and cudaGraphLaunch runs: work in an order that respects all its dependences.
struct Graph {
  std::vector<Work> work;
  bool broken = false;
  std::shared_ptr<Stream> origin;
  std::set<Stream*> streams;   // in the capture
  std::set<Stream*> unjoined;  // those that the origin has not waited for
};

struct Stream {
  int device = 0;
  bool non_blocking = false;
  struct Step {
    Work work;
    Moment wait;
  };
  std::deque<Step> steps;
  uint64_t done = 0, put = 0;
  bool busy = false;
  std::shared_ptr<Graph> capture;
};

struct Event {
  Moment moment;
  double time = -1;  // in ms; when its moment passed
  bool timed = true;
  int device = 0;
  std::shared_ptr<Graph> capture;
  Stream* captured_in = nullptr;
  size_t captured_work = 0;
};

/// The stream of a handle, the default stream of the current device for null; null for what is no stream (any more).
std::shared_ptr<Stream> stream_of(cudaStream_t handle);
/// cudaSuccess, or why this call may not be made now on this stream.
cudaError_t enqueue(cudaStream_t handle, const char* what, Work work);
void enqueue(const std::shared_ptr<Stream>& stream, Work work);

// Host calls that wait; each counts.
void wait_for(const Moment& moment);
void wait_for_device(int device);
void wait_for_everything();
void wait_for_blocking_streams();  ///< what the synchronous calls wait for

/// True, and the capture is broken, if some stream is being captured: calls that wait, allocate or free may not be made
/// then.
bool breaks_capture();

// The error that cudaGetLastError returns.
cudaError_t set_error(cudaError_t error);  ///< returns it
cudaError_t pending_error();               ///< of kernels that have failed

int current_device();

}  // namespace emulator
