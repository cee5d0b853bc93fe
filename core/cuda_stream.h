// The stream on which a GPU's work is launched: how CUDA code of one's own and the library's come in one order.
#pragma once
#include "tutti/core/device.h"

#pragma GCC visibility push(default)
namespace tutti {

/// The cudaStream_t on which the library launches the device's work now (this thread's, if it records a CudaGraph).
/// Kernels and copies that the caller launches on it come after what was launched before and before what is launched
/// later: tensors can be read and written there without waiting. The library remembers which device it has selected for
/// a thread: a caller's cudaSetDevice is to be taken back before that thread comes here again. DeviceError on a device
/// without streams (the CPU).
void* cuda_stream(Device device);

/// `const CudaStreamScope on(gpu, stream);`: in this scope all of the device's work, of every thread, is launched on
/// the caller's cudaStream_t: one of a library that is used beside this one, or cudaStreamLegacy. It begins after what
/// was launched before the scope, and what comes after the scope begins after it; the host does not wait. Null is the
/// library's own stream. The stream must outlive the scope, and no other thread may launch work on the device while a
/// scope begins or ends. DeviceError if the stream is none of the device's, or while a CudaGraph is recorded.
class CudaStreamScope {
 public:
  CudaStreamScope(Device device, void* stream);
  ~CudaStreamScope();
  CudaStreamScope(const CudaStreamScope&) = delete;
  CudaStreamScope& operator=(const CudaStreamScope&) = delete;

 private:
  Device device_;
  void* before_;
};

}  // namespace tutti
#pragma GCC visibility pop
