// What the host code of kernels asks of CUDA's runtime.
#pragma once
#include <cuda_runtime_api.h>

#include <cstddef>

#pragma GCC visibility push(default)  // for kernels outside the library
namespace tutti::cuda {

/// The device that this thread launches on (Kernel<>::on chooses it).
int device();

/// Its stream. All threads share one per device, so that whatever one thread made another may use: work is done in the
/// order in which it was launched, by whomever. (Ask each time: a thread that records a graph has another meanwhile,
/// and a user may lend one of his own, core/cuda_stream.h.)
cudaStream_t stream();

/// Of this thread's device.
int multiprocessors();
/// Likewise, the most bytes of shared memory that a block may ask for: 227 KB on sm_90, 163 KB on sm_80, 99 KB on GPUs
/// of these generations that are no data centre's (sm_86, sm_89, sm_120).
size_t most_shared_bytes();

/// DeviceError "cuda: <what>: <CUDA's text>" unless e is cudaSuccess.
void check(cudaError_t e, const char* what);

/// Waits for this thread's device, and throws what its kernels complained of (complaint.h).
void wait();

/// Bytes of host memory, on the device for what is launched after this; the host's copy may go at once. The host does
/// not wait, unless it is far ahead.
void upload(void* device, const void* host, size_t bytes);

}  // namespace tutti::cuda
#pragma GCC visibility pop
