// For tests: an array on the emulated device, and a stream.
#pragma once
#include <cuda_runtime_api.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace tutti_test {

/// Throws what a call of the runtime has answered.
inline void ok(cudaError_t error) {
  if (error) throw std::runtime_error(std::string("CUDA: ") + cudaGetErrorString(error));
}

class StreamOwner {
 public:
  StreamOwner() { ok(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~StreamOwner() { cudaStreamDestroy(stream_); }
  StreamOwner(const StreamOwner&) = delete;
  StreamOwner& operator=(const StreamOwner&) = delete;
  operator cudaStream_t() const { return stream_; }
  void wait() const { ok(cudaStreamSynchronize(stream_)); }

 private:
  cudaStream_t stream_;
};

template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(size_t n) : n_(n) { ok(cudaMalloc(reinterpret_cast<void**>(&data_), n * sizeof(T))); }
  DeviceArray(const std::vector<T>& from, cudaStream_t stream) : DeviceArray(from.size()) {
    ok(cudaMemcpyAsync(data_, from.data(), n_ * sizeof(T), cudaMemcpyHostToDevice, stream));
  }
  ~DeviceArray() { cudaFree(data_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  T* data() const { return data_; }
  size_t size() const { return n_; }
  /// Waits for the stream.
  std::vector<T> to_host(cudaStream_t stream) const {
    std::vector<T> host(n_);
    ok(cudaMemcpyAsync(host.data(), data_, n_ * sizeof(T), cudaMemcpyDeviceToHost, stream));
    ok(cudaStreamSynchronize(stream));
    return host;
  }

 private:
  T* data_ = nullptr;
  size_t n_;
};

}  // namespace tutti_test
