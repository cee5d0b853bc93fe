// Planted faults: memory that a kernel may not touch, or that holds nothing yet.
#include "common.h"

namespace planted {
namespace {

enum class Read { own, one_too_far, far_too_far };

/// y[i] = x of the right neighbour in the block, by way of shared memory.
template <bool right, Read wrong>
__global__ void read_kernel(const float* x, float* y) {
  SHARED(float, s, [128]);
  const int t = static_cast<int>(threadIdx.x), i = static_cast<int>(blockIdx.x * blockDim.x) + t;
  s[t] = x[i + (right ? 0 : wrong == Read::one_too_far ? 1 : wrong == Read::far_too_far ? 100000000 : 0)];
  __syncthreads();
  y[i] = s[(t + 1) % 128];
}
template <Read wrong>
bool read(bool is_right) {
  Setup s(256);
  start(is_right, std::pair(&read_kernel<true, wrong>, &read_kernel<false, wrong>), 2, 128, 0, s.stream, s.x.data(),
        s.y.data());
  return s.result() == rotated(s.host, 128);
}

template <bool right>
__global__ void shared_kernel(const float* x, float* y) {
  SHARED(float, s, [128]);
  const int t = static_cast<int>(threadIdx.x);
  s[t] = x[t];
  __syncthreads();
  y[t] = s[t + 1 < 128 || !right ? t + 1 : 0];
}
bool beyond_shared(bool right) {
  Setup s(128);
  start(right, BOTH(shared_kernel), 1, 128, 0, s.stream, s.x.data(), s.y.data());
  return s.result() == rotated(s.host, 128);
}

template <bool right>
__global__ void dynamic_kernel(const float* x, float* y) {
  SHARED_DYN(float, s);
  const int t = static_cast<int>(threadIdx.x);
  s[t] = x[t];
  if (!right && t == 127) s[128] = 1;
  __syncthreads();
  y[t] = s[(t + 1) % 128];
}
bool beyond_dynamic_shared(bool right) {
  Setup s(128);
  start(right, BOTH(dynamic_kernel), 1, 128, 128 * sizeof(float), s.stream, s.x.data(), s.y.data());
  return s.result() == rotated(s.host, 128);
}

/// A tile's row runs over into the next row: inside the array, outside the row.
template <bool right>
__global__ void row_kernel(const float* x, float* y) {
  SHARED(float, s, [4][32]);
  const int t = static_cast<int>(threadIdx.x), row = t / 32;
  s[row][t % 32] = x[t];
  __syncthreads();
  const int column = right ? (t + 1) % 32 : t % 32 + 1;
  y[t] = row == 3 && column == 32 ? s[0][0] : s[row][column];
}
bool beyond_row(bool right) {
  Setup s(128);
  start(right, BOTH(row_kernel), 1, 128, 0, s.stream, s.x.data(), s.y.data());
  return s.result() == rotated(s.host, 32);
}

template <bool right>
__global__ void vector_kernel(const float* x, float* y) {
  const int t = static_cast<int>(threadIdx.x);
  const float* const from = x + 4 * t + 1;
  const float4 v = right ? make_float4(from[0], from[1], from[2], from[3]) : *reinterpret_cast<const float4*>(from);
  y[t] = v.x + v.y + v.z + v.w;
}
bool misaligned_vector(bool right) {
  Setup s(132);
  start(right, BOTH(vector_kernel), 1, 32, 0, s.stream, s.x.data(), s.y.data());
  return s.result()[3] == 62;
}

/// A float4 of shared memory that was declared as floats.
template <bool right>
__global__ void shared_vector_kernel(const float* x, float* y) {
  SHARED_ALIGNED(right ? 16 : 4, float, s, [128]);
  const int t = static_cast<int>(threadIdx.x);
  if (t < 32) *reinterpret_cast<float4*>(&s[4 * t]) = *reinterpret_cast<const float4*>(x + 4 * t);
  __syncthreads();
  y[t] = s[(t + 1) % 128];
}
bool misaligned_shared(bool right) {
  Setup s(128);
  start(right, BOTH(shared_vector_kernel), 1, 128, 0, s.stream, s.x.data(), s.y.data());
  return s.result() == rotated(s.host, 128);
}

/// Two floats at once, where floats were declared; a copy of a struct of two is no access of 8 bytes.
struct Two {
  float first, second;
};
template <bool right>
__global__ void shared_pair_kernel(const float* x, float* y) {
  SHARED(float, s, [128]);
  using Pair = std::conditional_t<right, Two, float2>;
  const int t = static_cast<int>(threadIdx.x);
  if (t < 64) *reinterpret_cast<Pair*>(&s[2 * t]) = *reinterpret_cast<const Pair*>(x + 2 * t);
  __syncthreads();
  y[t] = s[(t + 1) % 128];
}
bool misaligned_pair(bool right) {
  Setup s(128);
  start(right, BOTH(shared_pair_kernel), 1, 128, 0, s.stream, s.x.data(), s.y.data());
  return s.result() == rotated(s.host, 128);
}

template <bool right>
__global__ void half_filled_kernel(const float* x, float* y) {
  SHARED(float, s, [128]);
  const int t = static_cast<int>(threadIdx.x);
  if (right || t > 0) s[t] = x[t];
  __syncthreads();
  y[t] = s[(t + 1) % 128];
}
bool uninitialised_shared(bool right) {
  Setup s(128);
  start(right, BOTH(half_filled_kernel), 1, 128, 0, s.stream, s.x.data(), s.y.data());
  return s.result() == rotated(s.host, 128);
}

__global__ void copy_kernel(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x]; }
void copy(const float* x, float* y, cudaStream_t stream) { launch(copy_kernel, dim3(1), dim3(128), 0, stream, x, y); }

bool uninitialised_device(bool right) {
  Setup s(128);
  const DeviceArray<float> fresh(128);
  copy(right ? s.x.data() : fresh.data(), s.y.data(), s.stream);
  return s.result() == s.host;
}
bool host_pointer(bool right) {
  Setup s(128);
  copy(right ? s.x.data() : s.host.data(), s.y.data(), s.stream);
  return s.result() == s.host;
}
bool use_after_free(bool right) {
  Setup s(128);
  float* p;
  ok(cudaMalloc(reinterpret_cast<void**>(&p), 128 * sizeof(float)));
  ok(cudaMemcpyAsync(p, s.x.data(), 128 * sizeof(float), cudaMemcpyDeviceToDevice, s.stream));
  if (!right) ok(cudaFree(p));
  copy(p, s.y.data(), s.stream);
  const bool same = s.result() == s.host;
  if (right) ok(cudaFree(p));
  return same;
}
bool double_free(bool right) {
  void* p;
  ok(cudaMalloc(&p, 100));
  ok(cudaFree(p));
  return right || cudaFree(p) == cudaSuccess;
}

}  // namespace

std::vector<Fault> memory_faults() {
  const char* const nan = "wrong result";
  const char* const poisoned = "use-after-poison";
  return {
      {"read one too far", read<Read::one_too_far>, nan, poisoned, "out of bounds of device memory"},
      {"read far too far", read<Read::far_too_far>, "never allocated", "never allocated",
       "outside every live device buffer"},
      {"beyond shared memory", beyond_shared, nan, "index 128 out of bounds", "out of bounds of shared memory"},
      {"beyond dynamic shared memory", beyond_dynamic_shared, nullptr, poisoned, "out of bounds of shared memory"},
      {"beyond a row of a tile", beyond_row, nan, "index 32 out of bounds", nan},
      {"misaligned float4", misaligned_vector, perhaps, "misaligned address", perhaps},
      {"float4 in shared floats", misaligned_shared, perhaps, "misaligned address", perhaps},
      {"float2 in shared floats", misaligned_pair, nullptr, "misaligned address", "misaligned access of 8 bytes"},
      {"uninitialised shared memory", uninitialised_shared, nan, nan, "read of uninitialised shared memory"},
      {"uninitialised device memory", uninitialised_device, nan, nan, "read of uninitialised device memory"},
      {"host pointer in a kernel", host_pointer, nullptr, nullptr, "reads host memory"},
      {"use after free", use_after_free, nan, poisoned, "outside every live device buffer"},
      {"double free", double_free, "has been freed", "has been freed", "has been freed"},
  };
}

}  // namespace planted
