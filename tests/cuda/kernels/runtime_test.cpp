// The emulated runtime: streams, events, memory in the order of a stream, devices, limits, graphs, and what it counts.
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "cuda/device_array.h"
#include "cuda/emulator/emulator.h"
#include "kernels.h"
#include "support/catch.h"

using namespace tutti_test;
using emulator::counters;

namespace {

/// The fault since the last call.
std::string fault() {
  std::string text = emulator::report();
  emulator::clear_report();
  cudaGetLastError();
  return text;
}
const std::vector<float> ones(100, 1.0f);

}  // namespace

TEST_CASE("a stream does nothing before somebody waits for it", "[cuda]") {
  const StreamOwner stream;
  const DeviceArray<float> x(ones, stream);
  const auto launches = counters().launches, waits = counters().host_waits;
  kernels::add(x.data(), 1, 100, stream);
  kernels::add(x.data(), 1, 100, stream);
  CHECK(counters().launches == launches);
  CHECK(counters().host_waits == waits);
  CHECK(cudaStreamQuery(stream) == cudaErrorNotReady);
  stream.wait();
  CHECK(cudaStreamQuery(stream) == cudaSuccess);
  CHECK(counters().launches == launches + 2);
  CHECK(counters().host_waits == waits + 1);
  CHECK(x.to_host(stream) == std::vector<float>(100, 3.0f));
  CHECK(counters().host_waits >= waits + 2);  // to pageable memory
  CHECK(fault() == "");
}

TEST_CASE("pageable memory is read during the call, pinned memory when the stream comes to it", "[cuda]") {
  const StreamOwner stream;
  const DeviceArray<float> x(1), y(1);
  float pageable = 1;
  float* pinned;
  ok(cudaMallocHost(reinterpret_cast<void**>(&pinned), sizeof(float)));
  *pinned = 1;
  ok(cudaMemcpyAsync(x.data(), &pageable, sizeof(float), cudaMemcpyHostToDevice, stream));
  ok(cudaMemcpyAsync(y.data(), pinned, sizeof(float), cudaMemcpyHostToDevice, stream));
  pageable = *pinned = 2;
  CHECK(x.to_host(stream)[0] == 1);
  CHECK(y.to_host(stream)[0] == 2);
  cudaPointerAttributes attributes;
  ok(cudaPointerGetAttributes(&attributes, pinned));
  CHECK(attributes.type == cudaMemoryTypeHost);
  ok(cudaPointerGetAttributes(&attributes, x.data()));
  CHECK(attributes.type == cudaMemoryTypeDevice);
  ok(cudaPointerGetAttributes(&attributes, &pageable));
  CHECK(attributes.type == cudaMemoryTypeUnregistered);
  ok(cudaFreeHost(pinned));
  CHECK(fault() == "");
}

TEST_CASE("events order streams and measure them", "[cuda]") {
  const StreamOwner one, other;
  const DeviceArray<float> x(ones, one);
  cudaEvent_t begin, end;
  ok(cudaEventCreate(&begin));
  ok(cudaEventCreate(&end));
  ok(cudaEventRecord(begin, one));
  kernels::add(x.data(), 1, 100, one);
  ok(cudaEventRecord(end, one));
  float ms = -1;
  CHECK(cudaEventElapsedTime(&ms, begin, end) == cudaErrorNotReady);
  ok(cudaStreamWaitEvent(other, end, 0));
  CHECK(x.to_host(other)[5] == 2);  // which brings the first stream as far as the event
  CHECK(cudaEventQuery(end) == cudaSuccess);
  ok(cudaEventElapsedTime(&ms, begin, end));
  CHECK(ms >= 0);
  ok(cudaEventDestroy(begin));
  ok(cudaEventDestroy(end));
  CHECK(fault() == "");
}

TEST_CASE("memory in the order of a stream", "[cuda]") {
  const StreamOwner stream;
  const size_t before = emulator::bytes_in_use();
  float* p;
  ok(cudaMallocAsync(reinterpret_cast<void**>(&p), 400, stream));
  ok(cudaMemcpyAsync(p, ones.data(), 400, cudaMemcpyHostToDevice, stream));
  kernels::add(p, 1, 100, stream);
  std::vector<float> y(100);
  ok(cudaMemcpyAsync(y.data(), p, 400, cudaMemcpyDeviceToHost, stream));
  ok(cudaFreeAsync(p, stream));
  CHECK(emulator::bytes_in_use() == before + 400);
  stream.wait();
  CHECK(emulator::bytes_in_use() == before);
  CHECK(y[99] == 2);
  CHECK(fault() == "");
}

TEST_CASE("new device memory holds NaN, and its end is where it was asked to be", "[cuda]") {
  const StreamOwner stream;
  const DeviceArray<float> x(3);
  for (const float v : x.to_host(stream)) CHECK(v != v);
  ok(cudaMemsetAsync(x.data(), 0, 16, stream));
  stream.wait();
  CHECK_THAT(fault(), Contains("cudaMemset writes past the end of a device buffer: 16 bytes at offset 0 of 12"));
  void* p = nullptr;
  CHECK(cudaMalloc(&p, emulator::config().memory) == cudaErrorMemoryAllocation);
  CHECK(p == nullptr);
  size_t free = 0, total = 0;
  ok((cudaGetLastError(), cudaMemGetInfo(&free, &total)));
  CHECK(total == emulator::config().memory);
  CHECK(free < total);
  CHECK(fault() == "");
}

TEST_CASE("parts of a segment have bounds of their own", "[cuda]") {
  const StreamOwner stream;
  char* segment;
  ok(cudaMalloc(reinterpret_cast<void**>(&segment), 4096));
  emulator::divide(segment);
  emulator::part(segment, 400, true, stream);
  emulator::part(segment + 512, 400, true, stream);
  ok(cudaMemcpyAsync(segment + 512, ones.data(), 400, cudaMemcpyHostToDevice, stream));
  stream.wait();
  CHECK(fault() == "");
  ok(cudaMemsetAsync(segment, 0, 512, stream));
  stream.wait();
  CHECK_THAT(fault(), Contains("past the end of a device buffer: 512 bytes at offset 0 of 400"));
  emulator::part(segment + 256, 10, true, stream);
  stream.wait();
  CHECK_THAT(fault(), Contains("hands out memory that is still in use"));
  emulator::part(segment, 400, false, stream);
  ok(cudaMemsetAsync(segment, 0, 4, stream));
  stream.wait();
  CHECK_THAT(fault(), Contains("outside every live device buffer"));
  ok(cudaFree(segment));
  CHECK(fault() == "");
}

TEST_CASE("limits of shared memory", "[cuda]") {
  const StreamOwner stream;
  const DeviceArray<float> result(1);
  const auto sum = [&](size_t bytes, bool allow) {
    kernels::dynamic_shared(result.data(), bytes, allow, stream);
    return result.to_host(stream)[0];
  };
  CHECK(sum(1024, false) == 36 * 21 + 0 + 1 + 2 + 3);
  CHECK(fault() == "");
  kernels::dynamic_shared(result.data(), 48 * 1024 + 4, false, stream);
  CHECK(cudaGetLastError() == cudaErrorInvalidConfiguration);
  CHECK_THAT(fault(), Contains("more dynamic shared memory than the kernel has been allowed"));
  CHECK(sum(200 * 1024, true) > 0);
  CHECK(fault() == "");
  kernels::dynamic_shared(result.data(), 228 * 1024, true, stream);
  CHECK(cudaGetLastError() == cudaErrorInvalidConfiguration);
  CHECK(fault() != "");
}

TEST_CASE("two devices", "[cuda]") {
  int count = 0, can = 1;
  ok(cudaGetDeviceCount(&count));
  REQUIRE(count == 2);
  const StreamOwner first;
  const DeviceArray<float> x(ones, first);
  ok(cudaSetDevice(1));
  {
    const StreamOwner second;
    const DeviceArray<float> y(100);
    ok(cudaMemcpyPeerAsync(y.data(), 1, x.data(), 0, 400, first));
    first.wait();
    kernels::add(y.data(), 1, 100, second);
    CHECK(y.to_host(second)[99] == 2);
    CHECK(fault() == "");
  }
  ok(cudaDeviceCanAccessPeer(&can, 0, 1));
  CHECK(can == 0);
  CHECK(cudaDeviceEnablePeerAccess(0, 0) == cudaErrorPeerAccessUnsupported);
  ok(cudaSetDevice(0));
  CHECK(cudaSetDevice(2) == cudaErrorInvalidDevice);
  fault();
}

TEST_CASE("a captured step runs again and again", "[cuda]") {
  const StreamOwner stream, side;
  const DeviceArray<float> x(ones, stream), y(ones, stream);
  stream.wait();
  cudaEvent_t fork, join;
  ok(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
  ok(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  const auto launches = counters().launches;
  ok(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  kernels::add(x.data(), 1, 100, stream);
  ok(cudaEventRecord(fork, stream));
  ok(cudaStreamWaitEvent(side, fork, 0));
  kernels::add(y.data(), 2, 100, side);
  ok(cudaEventRecord(join, side));
  ok(cudaStreamWaitEvent(stream, join, 0));
  kernels::add(y.data(), 2, 100, stream);
  ok(cudaStreamEndCapture(stream, &graph));
  CHECK(x.to_host(stream)[0] == 1);  // nothing has run
  CHECK(counters().launches == launches);
  ok(cudaGraphInstantiate(&exec, graph, 0));
  const auto graphs = counters().graphs;
  for (int i = 0; i < 3; ++i) ok(cudaGraphLaunch(exec, stream));
  CHECK(x.to_host(stream)[0] == 4);
  CHECK(y.to_host(stream)[0] == 13);
  CHECK(counters().launches == launches + 9);
  CHECK(counters().graphs == graphs + 3);
  ok(cudaGraphExecDestroy(exec));
  ok(cudaGraphDestroy(graph));

  ok(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  void* p;
  CHECK(cudaMalloc(&p, 16) == cudaErrorStreamCaptureUnsupported);
  CHECK(cudaStreamEndCapture(stream, &graph) == cudaErrorStreamCaptureInvalidated);
  ok(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  ok(cudaEventRecord(fork, stream));
  ok(cudaStreamWaitEvent(side, fork, 0));
  CHECK(cudaStreamEndCapture(stream, &graph) == cudaErrorStreamCaptureUnjoined);
  ok(cudaEventDestroy(fork));
  ok(cudaEventDestroy(join));
  fault();
}

TEST_CASE("several host threads, each with a stream", "[cuda]") {
  std::vector<std::thread> threads;
  std::vector<float> results(4);
  for (size_t i = 0; i < results.size(); ++i)
    threads.emplace_back([&, i] {
      const StreamOwner stream;
      const DeviceArray<float> x(ones, stream);
      for (size_t k = 0; k < 10 * (i + 1); ++k) kernels::add(x.data(), 1, 100, stream);
      results[i] = x.to_host(stream)[99];
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(results == std::vector<float>{11, 21, 31, 41});
  CHECK(fault() == "");
}

TEST_CASE("what a host thread does while another's kernel runs is not the kernel's", "[cuda]") {
  // Code of a .cu file, whose loads and stores the recorder's hooks see on the host too.
  std::atomic<bool> done{false};
  std::thread other([&] {
    for (int i = 0; i < 300; ++i) {
      const StreamOwner stream;
      const DeviceArray<float> x(std::vector<float>(1000), stream);
      kernels::add(x.data(), 1, 1000, stream);
      stream.wait();
    }
    done = true;
  });
  const StreamOwner stream;
  const DeviceArray<float> x(ones, stream);
  while (!done) kernels::add(x.data(), 1, 100, stream);
  other.join();
  CHECK(fault() == "");
}

TEST_CASE("a fault that host code makes is named once and the host goes on", "[cuda]") {
  const StreamOwner stream;
  const DeviceArray<float> x(ones, stream);
  stream.wait();
  {
    const emulator::HostAccess open;
    CHECK(x.data()[3] == 1);
  }
  CHECK(fault() == "");
  CHECK(static_cast<volatile float*>(x.data())[3] == 1);
  CHECK_THAT(fault(), Contains("host code touches device memory at "));
  CHECK(fault() == "");
}
