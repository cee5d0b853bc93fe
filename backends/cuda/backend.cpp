// CUDA as a backend: device memory. Its kernels are in kernels/.
#include <cuda_runtime_api.h>

#include "tutti/backends/cuda/capture.h"
#include "tutti/backends/cuda/nvtx.h"
#include "tutti/backends/cuda/runtime.h"
#include "tutti/backends/cuda/select.h"
#include "tutti/backends/cuda/staging.h"
#include "tutti/core/detail/backends.h"
#ifdef TUTTI_CUDA_EMULATED
#include "emulator.h"
#endif

namespace tutti {
namespace {

void* allocate_whole(int index, size_t bytes) {
  cuda::refuse_in_capture("needs more memory than it did in its warm-up");
  const cuda::Selected there(index);
  void* p = nullptr;
  if (cudaMalloc(&p, bytes) != cudaSuccess) {
    (void)cudaGetLastError();
    return nullptr;
  }
  return p;
}

void* allocate(int index, size_t bytes) {
  void* const p = allocate_whole(index, bytes);
#ifdef TUTTI_CUDA_EMULATED
  if (p) emulator::divide(p);
#endif
  return p;
}

void release(int index, void* p, size_t) {
  const cuda::Selected there(index);
  if (cuda::freed_after_capture(p)) return;
  (void)cudaFree(p);  // waits for what still uses it
}

#ifdef TUTTI_CUDA_EMULATED
void mark(int index, void* p, size_t bytes, bool in_use) {
  const cuda::Selected there(index);
  emulator::part(p, bytes, in_use, cuda::main_stream());
}
#endif

void copy(void* to, Device to_device, const void* from, Device from_device, size_t bytes) {
  if (!bytes) return;
  const bool down = to_device == cpu, up = from_device == cpu;
  const cuda::Selected there(up ? to_device.index : from_device.index);
  if (up) return cuda::upload(to, from, bytes);
  if (down || to_device == from_device) {
    if (down) cuda::refuse_in_capture(cuda::waits);
    cuda::check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, cuda::stream()), "cudaMemcpyAsync");
    if (down) cuda::wait();
    return;
  }
  cuda::refuse_in_capture("copies from one device to another");
  // Between devices: the source's stream has made the values, the target's is done with the memory.
  {
    const cuda::Selected other(to_device.index);
    cuda::wait();
  }
  cuda::check(cudaMemcpyPeerAsync(to, to_device.index, from, from_device.index, bytes, cuda::stream()),
              "cudaMemcpyPeerAsync");
  cuda::wait();
}

void wait_for(int index) {
  const cuda::Selected there(index);
  cuda::wait();
}

void* stream_of(int index) {
  const cuda::Selected there(index);
  return cuda::stream();
}

const Recorder graphs{.allocate = allocate_whole,
                      .begin = cuda::begin_capture,
                      .end = cuda::end_capture,
                      .discard = cuda::discard_capture,
                      .replay = cuda::replay,
                      .drop = cuda::drop};

}  // namespace

const Backend cuda_backend{.name = "cuda",
#ifdef TUTTI_CUDA_EMULATED
                           .segment = size_t{16} << 20,
                           .granule = 256,
                           .guard = 32,
#else
                           .segment = size_t{128} << 20,
                           .granule = 256,  // what a vector load and a transaction want
                           .guard = 0,
#endif
                           .count = cuda::count,
                           .select = cuda::select,
                           .allocate = allocate,
                           .free = release,
                           .discard = nullptr,
#ifdef TUTTI_CUDA_EMULATED
                           .mark = mark,
#else
                           .mark = nullptr,
#endif
                           .copy = copy,
                           .synchronize = wait_for,
                           .send = cuda::send,
                           .arrive = cuda::arrive,
                           .recorder = &graphs,
                           .stream = stream_of,
                           .use_stream = cuda::use_stream,
                           .open_range = cuda::open_range,
                           .close_range = cuda::close_range};

}  // namespace tutti
