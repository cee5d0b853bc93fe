// A stream that the user lends: what is launched on it, and in which order.
#include <cuda_runtime_api.h>

#include "emulator.h"
#include "support/catch.h"
#include "tutti/tutti.h"

using namespace tutti;

namespace {

const Device gpu = Device::cuda();

struct UsersStream {
  cudaStream_t handle = nullptr;
  UsersStream() { REQUIRE(cudaStreamCreateWithFlags(&handle, cudaStreamNonBlocking) == cudaSuccess); }
  ~UsersStream() { (void)cudaStreamDestroy(handle); }
  UsersStream(const UsersStream&) = delete;
  UsersStream& operator=(const UsersStream&) = delete;
};

}  // namespace

TEST_CASE("cuda stream: work follows the stream that the user lends, in the order of launches, and nobody waits") {
  const UsersStream users;
  void* const own = cuda_stream(gpu);
  const Tensor x = full({1000}, 1, {.device = gpu});
  Tensor y, z;
  std::vector<float> seen(1000);
  const uint64_t waits = emulator::counters().host_waits;
  {
    const CudaStreamScope on(gpu, users.handle);
    CHECK(cuda_stream(gpu) == users.handle);
    y = add(x, 1);  // after x, which the library's own stream makes
    // The user's own work, ordered by his stream alone.
    void* const memory = const_cast<float*>(y.data<float>());
    REQUIRE(cudaMemsetAsync(memory, 0, 500 * sizeof(float), users.handle) == cudaSuccess);
    {
      const CudaStreamScope back(gpu, nullptr);
      CHECK(cuda_stream(gpu) == own);
    }
    CHECK(cuda_stream(gpu) == users.handle);
    z = mul(y, 3);
  }
  CHECK(cuda_stream(gpu) == own);
  const Tensor sum = add(z, y);  // after what the user's stream does
  CHECK(emulator::counters().host_waits == waits);
  const auto values = sum.to_vector<float>();
  for (size_t i = 0; i < 1000; ++i) REQUIRE(values[i] == (i < 500 ? 0 : 8));
}

TEST_CASE("cuda stream: memory that was used on one stream may be given out on the next") {
  const UsersStream users;
  Tensor kept = zeros({4096}, {.device = gpu});
  for (int i = 0; i < 4; ++i) {
    { const Tensor gone = add(kept, 7); }
    const CudaStreamScope on(gpu, i % 2 ? users.handle : nullptr);
    kept = add(zeros({4096}, {.device = gpu}), i);
  }
  for (const float v : kept.to_vector<float>()) REQUIRE(v == 3);
}

TEST_CASE("cuda stream: a stream that is none of the device's, and changes in a recorded step, are errors") {
  const UsersStream users;  // of cuda:0
  CHECK_THROWS_WITH(CudaStreamScope(Device::cuda(1), users.handle),
                    Contains("CudaStreamScope: the stream given is none of this device's"));
  CHECK(add(zeros({3}, {.device = Device::cuda(1)}), 1).to_vector<float>() == std::vector<float>(3, 1));
  Tensor x = zeros({3}, {.device = gpu});
  CHECK_THROWS_WITH(CudaGraph(
                        [&] {
                          const CudaStreamScope on(gpu, users.handle);
                          x = add(x, 1);
                        },
                        gpu),
                    Contains("CudaGraph: the step changes the device's stream"));
}
