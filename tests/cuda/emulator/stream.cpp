#include "stream.h"

#include <chrono>
#include <map>

#include "memory.h"
#include "report.h"

namespace emulator {
namespace {

struct State {
  std::map<cudaStream_t, std::shared_ptr<Stream>> streams;
  std::map<int, std::shared_ptr<Stream>> defaults;
  std::map<cudaEvent_t, std::shared_ptr<Event>> events;
  uint64_t random = 1;
};
State& state() {
  static State& one = *new State;
  return one;
}
std::shared_ptr<Event> event_of(cudaEvent_t handle) {
  const auto found = state().events.find(handle);
  return found == state().events.end() ? nullptr : found->second;
}

std::shared_ptr<Stream> new_stream(bool non_blocking) {
  auto stream = std::make_shared<Stream>();
  stream->device = current_device();
  stream->non_blocking = non_blocking;
  return stream;
}

void run_until(Stream& stream, uint64_t at);

void step(Stream& stream) {
  Stream::Step next = std::move(stream.steps.front());
  stream.steps.pop_front();
  stream.busy = true;
  if (next.wait.stream) run_until(*next.wait.stream, next.wait.at);
  if (next.work) next.work();
  stream.busy = false;
  ++stream.done;
}
/// In random order: some other stream that can go on does.
void let_another_go_on() {
  State& s = state();
  if (config().order != Order::random || s.streams.empty()) return;
  s.random = s.random * 6364136223846793005u + config().seed * 2 + 1;
  auto one = s.streams.begin();
  std::advance(one, static_cast<long>((s.random >> 33) % s.streams.size()));
  Stream& other = *one->second;
  if (other.busy || other.steps.empty()) return;
  const Moment& wait = other.steps.front().wait;
  if (!wait.stream || wait.passed()) step(other);
}
void run_until(Stream& stream, uint64_t at) {
  const Linger open;
  while (stream.done < at && !stream.steps.empty()) {
    let_another_go_on();
    if (stream.done < at && !stream.steps.empty()) step(stream);
  }
}
double now() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

bool Moment::passed() const { return !stream || stream->done >= at; }

std::shared_ptr<Stream> stream_of(cudaStream_t handle) {
  if (handle == nullptr) {
    auto& one = state().defaults[current_device()];
    if (!one) one = new_stream(false);
    return one;
  }
  const auto found = state().streams.find(handle);
  return found == state().streams.end() ? nullptr : found->second;
}

void enqueue(const std::shared_ptr<Stream>& stream, Work work) {
  if (stream->capture) {
    stream->capture->work.push_back(std::move(work));
    return;
  }
  stream->steps.push_back({std::move(work), {}});
  ++stream->put;
  if (!config().lazy) run_until(*stream, stream->put);
}
cudaError_t enqueue(cudaStream_t handle, const char* what, Work work) {
  const Lock lock(mutex());  // (cuBLAS has not taken it)
  const auto stream = stream_of(handle);
  if (!stream) {
    note(std::string(what) + ": not a stream, or one that has been destroyed");
    return set_error(cudaErrorInvalidResourceHandle);
  }
  if (handle == nullptr) note(std::string(what) + " on the default stream: every host call names a stream");
  enqueue(stream, std::move(work));
  return cudaSuccess;
}

void wait_for(const Moment& moment) {
  ++counters().host_waits;
  if (moment.stream) run_until(*moment.stream, moment.at);
}
void wait_for_device(int device) {
  ++counters().host_waits;
  for (auto& [handle, stream] : state().streams)
    if (stream->device == device) run_until(*stream, stream->put);
}
void wait_for_everything() {
  ++counters().host_waits;
  for (auto& [handle, stream] : state().streams) run_until(*stream, stream->put);
}
void wait_for_blocking_streams() {
  ++counters().host_waits;
  for (auto& [handle, stream] : state().streams)
    if (!stream->non_blocking) run_until(*stream, stream->put);
}
bool breaks_capture() {
  bool any = false;
  for (auto& [handle, stream] : state().streams)
    if (stream->capture) any = stream->capture->broken = true;
  return any;
}

}  // namespace emulator

using namespace emulator;

#define LOCK const Lock lock_(mutex())
#define RETURN_UNKNOWN_UNLESS(x) \
  if (!(x)) return set_error(cudaErrorInvalidResourceHandle)

extern "C" {

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* handle, unsigned flags) {
  LOCK;
  auto stream = new_stream((flags & cudaStreamNonBlocking) != 0);
  *handle = reinterpret_cast<cudaStream_t>(stream.get());
  state().streams[*handle] = std::move(stream);
  return cudaSuccess;
}
cudaError_t cudaStreamCreate(cudaStream_t* handle) { return cudaStreamCreateWithFlags(handle, cudaStreamDefault); }
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* handle, unsigned flags, int) {
  return cudaStreamCreateWithFlags(handle, flags);
}
cudaError_t cudaStreamDestroy(cudaStream_t handle) {
  LOCK;
  const auto stream = handle ? stream_of(handle) : nullptr;
  RETURN_UNKNOWN_UNLESS(stream);
  run_until(*stream, stream->put);  // what it holds still happens
  state().streams.erase(handle);
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  LOCK;
  const auto stream = stream_of(handle);
  RETURN_UNKNOWN_UNLESS(stream);
  if (stream->capture && breaks_capture()) return set_error(cudaErrorStreamCaptureUnsupported);
  wait_for({stream, stream->put});
  return pending_error();
}
cudaError_t cudaStreamQuery(cudaStream_t handle) {  // each question lets one piece of work happen
  LOCK;
  const auto stream = stream_of(handle);
  RETURN_UNKNOWN_UNLESS(stream);
  if (stream->capture && breaks_capture()) return set_error(cudaErrorStreamCaptureUnsupported);
  if (stream->steps.empty()) return pending_error();
  step(*stream);
  return cudaErrorNotReady;
}
cudaError_t cudaDeviceSynchronize() {
  LOCK;
  if (breaks_capture()) return set_error(cudaErrorStreamCaptureUnsupported);
  wait_for_device(current_device());
  return pending_error();
}
cudaError_t cudaLaunchHostFunc(cudaStream_t handle, cudaHostFn_t function, void* data) {
  LOCK;
  return enqueue(handle, "cudaLaunchHostFunc", [=] {
    close_to_host();
    function(data);
  });
}
cudaError_t cudaStreamGetDevice(cudaStream_t handle, int* device) {
  LOCK;
  const auto stream = stream_of(handle);
  RETURN_UNKNOWN_UNLESS(stream);
  *device = stream->device;
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* handle, unsigned flags) {
  LOCK;
  auto event = std::make_shared<Event>();
  event->timed = !(flags & cudaEventDisableTiming);
  event->device = current_device();
  *handle = reinterpret_cast<cudaEvent_t>(event.get());
  state().events[*handle] = std::move(event);
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* handle) { return cudaEventCreateWithFlags(handle, cudaEventDefault); }
cudaError_t cudaEventDestroy(cudaEvent_t handle) {
  LOCK;
  return state().events.erase(handle) ? cudaSuccess : set_error(cudaErrorInvalidResourceHandle);
}
cudaError_t cudaEventRecord(cudaEvent_t handle, cudaStream_t of) {
  LOCK;
  const auto event = event_of(handle);
  const auto stream = stream_of(of);
  RETURN_UNKNOWN_UNLESS(event && stream && event->device == stream->device);
  event->capture = stream->capture;
  event->captured_in = stream.get();
  if (stream->capture) {
    event->captured_work = stream->capture->work.size();
    return cudaSuccess;
  }
  event->time = -1;
  enqueue(stream, [event] { event->time = now(); });
  event->moment = {stream, stream->put};
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t handle) {
  LOCK;
  const auto event = event_of(handle);
  RETURN_UNKNOWN_UNLESS(event);
  if (event->capture) return event->capture->broken = true, set_error(cudaErrorCapturedEvent);
  wait_for(event->moment);
  return pending_error();
}
cudaError_t cudaEventQuery(cudaEvent_t handle) {
  LOCK;
  const auto event = event_of(handle);
  RETURN_UNKNOWN_UNLESS(event);
  if (event->capture) return event->capture->broken = true, set_error(cudaErrorCapturedEvent);
  if (event->moment.passed()) return pending_error();
  step(*event->moment.stream);
  return cudaErrorNotReady;
}
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t first, cudaEvent_t second) {
  LOCK;
  const auto a = event_of(first), b = event_of(second);
  RETURN_UNKNOWN_UNLESS(a && b && a->timed && b->timed);
  if (a->time < 0 || b->time < 0) return cudaErrorNotReady;
  *ms = static_cast<float>(b->time - a->time);
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t for_event, unsigned) {
  LOCK;
  const auto stream = stream_of(handle);
  const auto event = event_of(for_event);
  RETURN_UNKNOWN_UNLESS(stream && event);
  if (event->capture) {  // a fork, or a join, of a capture
    Graph& graph = *event->capture;
    if (stream->capture && stream->capture != event->capture)
      return graph.broken = true, set_error(cudaErrorStreamCaptureMerge);
    if (!stream->capture) {
      stream->capture = event->capture;
      graph.streams.insert(stream.get());
      graph.unjoined.insert(stream.get());
    }
    if (event->captured_in != stream.get()) graph.unjoined.erase(event->captured_in);
    return cudaSuccess;
  }
  if (stream->capture) return stream->capture->broken = true, set_error(cudaErrorStreamCaptureIsolation);
  if (event->moment.stream == stream) return cudaSuccess;
  stream->steps.push_back({nullptr, event->moment});
  ++stream->put;
  if (!config().lazy) run_until(*stream, stream->put);
  return cudaSuccess;
}

}  // extern "C"
