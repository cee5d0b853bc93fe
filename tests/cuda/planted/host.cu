// Planted faults of host code: what it does not wait for, and launches that a GPU refuses.
#include "common.h"

namespace planted {
namespace {

__global__ void copy_kernel(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x]; }
void copy(const float* x, float* y, cudaStream_t stream, unsigned threads = 128) {
  launch(copy_kernel, dim3(1), dim3(threads), 0, stream, x, y);
}

struct Pinned {
  float* data;
  explicit Pinned(int n) {
    ok(cudaMallocHost(reinterpret_cast<void**>(&data), static_cast<size_t>(n) * sizeof(float)));
    for (int i = 0; i < n; ++i) data[i] = static_cast<float>(i + 1);
  }
  ~Pinned() { cudaFreeHost(data); }
  std::vector<float> values(int n) const { return {data, data + n}; }
};
constexpr size_t bytes = 128 * sizeof(float);

bool host_reads_device(bool right) {
  Setup s(128);
  copy(s.x.data(), s.y.data(), s.stream);
  s.stream.wait();
  return right ? s.result()[5] == 6 : *(static_cast<volatile float*>(s.y.data()) + 5) == 6;
}
bool no_wait(bool right) {
  Setup s(128);
  Pinned target(128);
  target.data[7] = 0;
  copy(s.x.data(), s.y.data(), s.stream);
  ok(cudaMemcpyAsync(target.data, s.y.data(), bytes, cudaMemcpyDeviceToHost, s.stream));
  if (right) s.stream.wait();
  return target.values(128) == s.host;
}
bool synchronous_copy_of_a_stream(bool right) {  // cudaMemcpy does not wait for streams like ours
  Setup s(128);
  copy(s.x.data(), s.y.data(), s.stream);
  if (right) s.stream.wait();
  std::vector<float> y(128);
  ok(cudaMemcpy(y.data(), s.y.data(), bytes, cudaMemcpyDeviceToHost));
  return y == s.host;
}
bool pinned_source_changed(bool right) {
  Setup s(128);
  Pinned source(128);
  ok(cudaMemcpyAsync(s.y.data(), source.data, bytes, cudaMemcpyHostToDevice, s.stream));
  if (right) s.stream.wait();
  source.data[3] = -1;
  return s.result() == s.host;
}
bool two_streams(bool right) {
  Setup s(128);
  const StreamOwner other;
  const DeviceArray<float> between(128);
  cudaEvent_t done;
  ok(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
  copy(s.x.data(), between.data(), other);
  ok(cudaEventRecord(done, other));
  if (right) ok(cudaStreamWaitEvent(s.stream, done, 0));
  copy(between.data(), s.y.data(), s.stream);
  const auto y = s.result();
  ok(cudaEventDestroy(done));
  return y == s.host;
}
bool freed_on_another_stream(bool right) {
  Setup s(128);
  const StreamOwner other;
  void* p;
  ok(cudaMallocAsync(&p, bytes, s.stream));
  copy(s.x.data(), static_cast<float*>(p), s.stream);
  s.stream.wait();
  copy(static_cast<float*>(p), s.y.data(), s.stream);
  if (right) s.stream.wait();
  ok(cudaFreeAsync(p, other));
  other.wait();
  return s.result() == s.host;
}
bool refused_launch(bool right) {
  Setup s(128);
  copy(s.x.data(), s.y.data(), s.stream, right ? 128 : 2048);
  return s.result() == s.host;
}
template <int limit>
__global__ void big_shared_kernel(float* y) {
  SHARED_DYN(float, s);
  s[threadIdx.x] = 1;
  y[threadIdx.x] = s[threadIdx.x];
}
bool shared_without_opt_in(bool right) {
  Setup s(128);
  if (right) ok(allow_shared(big_shared_kernel<0>, 100 * 1024));
  launch(big_shared_kernel<0>, dim3(1), dim3(128), 100 * 1024, s.stream, s.y.data());
  return s.result()[0] == 1;
}
template <bool right>
__global__ void static_shared_kernel(float* y) {
  SHARED(float, a, [6 * 1024]);
  SHARED(float, b, [right ? 6 * 1024 : 7 * 1024]);
  a[threadIdx.x] = b[threadIdx.x] = 1;
  y[threadIdx.x] = a[threadIdx.x] + b[threadIdx.x];
}
bool too_much_static_shared(bool right) {
  Setup s(128);
#ifdef __CUDACC__  // which refuses the wrong one by itself
  launch(static_shared_kernel<true>, dim3(1), dim3(128), 0, s.stream, s.y.data());
#else
  start(right, BOTH(static_shared_kernel), 1, 128, 0, s.stream, s.y.data());
#endif
  return s.result()[0] == 2;
}
bool another_device(bool right) {
  Setup s(128);
  ok(cudaSetDevice(right ? 0 : 1));
  const DeviceArray<float> x(s.host, s.stream);
  ok(cudaSetDevice(0));
  copy(x.data(), s.y.data(), s.stream);
  return s.result() == s.host;
}
bool stream_of_another_device(bool right) {
  Setup s(128);
  ok(cudaSetDevice(right ? 0 : 1));
  copy(s.x.data(), s.y.data(), s.stream);
  ok(cudaSetDevice(0));
  return s.result() == s.host;
}
bool copy_past_the_end(bool right) {
  Setup s(128);
  ok(cudaMemcpyAsync(s.y.data(), s.x.data(), bytes + (right ? 0 : 4), cudaMemcpyDeviceToDevice, s.stream));
  return s.result() == s.host;
}
bool default_stream(bool right) {
  Setup s(128);
  copy(s.x.data(), s.y.data(), right ? static_cast<cudaStream_t>(s.stream) : nullptr);
  ok(cudaDeviceSynchronize());
  return right ? s.result() == s.host : true;
}
bool wait_in_a_capture(bool right) {
  Setup s(128);
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  ok(cudaStreamBeginCapture(s.stream, cudaStreamCaptureModeGlobal));
  copy(s.x.data(), s.y.data(), s.stream);
  if (!right) cudaStreamSynchronize(s.stream);
  ok(cudaStreamEndCapture(s.stream, &graph));
  ok(cudaGraphInstantiate(&exec, graph, 0));
  ok(cudaGraphLaunch(exec, s.stream));
  const auto y = s.result();
  ok(cudaGraphExecDestroy(exec));
  ok(cudaGraphDestroy(graph));
  return y == s.host;
}

}  // namespace

std::vector<Fault> host_faults() {
  const auto everywhere = [](const char* name, bool (*run)(bool), const char* words) {
    return Fault{name, run, words, words, words};
  };
  return {
      everywhere("host reads device memory", host_reads_device, "host code touches device memory"),
      everywhere("host does not wait", no_wait, "wrong result"),
      everywhere("cudaMemcpy does not wait for a stream", synchronous_copy_of_a_stream, "wrong result"),
      everywhere("pinned source changed too soon", pinned_source_changed, "wrong result"),
      {"stream does not wait for another", two_streams, "wrong result", "wrong result",
       "read of uninitialised device memory"},
      {"freed on another stream", freed_on_another_stream, "wrong result", "use-after-poison",
       "outside every live device buffer"},
      everywhere("block of 2048 threads", refused_launch, "more than 1024 threads"),
      everywhere("100 KB of shared memory, not asked for", shared_without_opt_in, "more dynamic shared memory"),
      everywhere("52 KB of static shared memory", too_much_static_shared, "more than 48 KB of static shared memory"),
      everywhere("memory of another device", another_device, "the memory of another device"),
      everywhere("stream of another device", stream_of_another_device, "launch on a stream of device 0"),
      everywhere("copy past the end", copy_past_the_end, "past the end of a device buffer"),
      everywhere("default stream", default_stream, "on the default stream"),
      everywhere("wait in a capture", wait_in_a_capture, "operation failed due to a previous error during capture"),
  };
}

}  // namespace planted
