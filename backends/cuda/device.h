// What every kernel file includes: `Here`, element types, launching, temporary memory.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>

#include "tutti/backends/contract/kernel.h"
#include "tutti/backends/contract/view.h"
#include "tutti/backends/cuda/compat.h"
#include "tutti/backends/cuda/runtime.h"
#include "tutti/core/dtype.h"
#include "tutti/core/scratch.h"

namespace tutti {

using Here = target::cuda;

namespace {

/// What elements of T are computed in: float for the half types, else T itself.
template <class T>
using compute_t = std::conditional_t<std::is_same_v<T, bfloat16> || std::is_same_v<T, float16>, float, T>;
/// What they are summed in: float64 only for itself.
template <class T>
inline constexpr bool is_half = !std::is_same_v<T, compute_t<T>>;

template <class T>
__device__ compute_t<T> load(const T* p) {
  if constexpr (is_half<T>)
    return static_cast<float>(*p);
  else
    return *p;
}
template <class T>
__device__ void store(T* p, compute_t<T> v) {
  if constexpr (is_half<T>)
    *p = T::from(v);
  else
    *p = v;
}

/// f(T{}) for a floating dtype.
template <class F>
void for_float(DType t, F&& f) {
  switch (t) {
    case DType::float64:
      return f(double{});
    case DType::bfloat16:
      return f(bfloat16{});
    case DType::float16:
      return f(float16{});
    default:
      return f(float{});
  }
}
/// The same for any dtype; bool is uint8_t.
template <class F>
void for_any(DType t, F&& f) {
  switch (t) {
    case DType::int64:
      return f(int64_t{});
    case DType::int32:
      return f(int32_t{});
    case DType::uint8:
    case DType::boolean:
      return f(uint8_t{});
    default:
      return for_float(t, f);
  }
}
/// f(an unsigned integer of the dtype's size), for kernels that only move elements.
template <class F>
void for_size(DType t, F&& f) {
  switch (size_of(t)) {
    case 1:
      return f(uint8_t{});
    case 2:
      return f(uint16_t{});
    case 4:
      return f(uint32_t{});
    default:
      return f(uint64_t{});
  }
}

/// An unsigned integer of T's size.
template <class T>
using bits_t = std::conditional_t<
    sizeof(T) == 1, uint8_t,
    std::conditional_t<sizeof(T) == 2, uint16_t, std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>>;

/// N elements that are loaded and stored at once: 16 bytes of the widest type are one transaction of a thread.
template <class T, int N>
struct alignas(sizeof(T) * N) Pack {
  T v[N];
};

/// Threads of a block that works on n things, one thread each: whole warps, no more than `most`.
inline int threads_for(int64_t n, int most = 256) {
  return static_cast<int>(std::clamp<int64_t>((n + 31) / 32 * 32, 32, most));
}
/// Blocks for n pieces of work of `per_block` each: a few per multiprocessor; kernels stride over the rest.
inline dim3 blocks_for(int64_t n, int64_t per_block = 1) {
  const int64_t wanted = (n + per_block - 1) / per_block;
  return dim3(static_cast<unsigned>(std::clamp<int64_t>(wanted, 1, int64_t{16} * cuda::multiprocessors())));
}
/// This thread among all of a one-dimensional launch, and how many there are.
__device__ inline int64_t thread_index() { return int64_t{blockIdx.x} * blockDim.x + threadIdx.x; }
__device__ inline int64_t thread_count() { return int64_t{gridDim.x} * blockDim.x; }

/// Launches on this thread's device, in the order of its stream.
template <class... P, class... A>
void start(void (*kernel)(P...), dim3 grid, int block, size_t shared_bytes, A&&... arguments) {
  launch(kernel, grid, dim3(static_cast<unsigned>(block)), shared_bytes, cuda::stream(),
         static_cast<A&&>(arguments)...);
  cuda::check(cudaGetLastError(), "launch");
}

/// Temporary memory of this thread's device: n uninitialised elements, free again for what is launched later.
template <class T>
class Buffer {
 public:
  explicit Buffer(int64_t n)
      : memory_(static_cast<size_t>(n) * sizeof(T), {DeviceType::cuda, static_cast<int8_t>(cuda::device())}) {}
  T* data() const { return static_cast<T*>(memory_.data()); }

 private:
  Scratch memory_;
};

/// contract/view.h's row_offset on the device: the element offset of number i of a strided grid.
__device__ inline int64_t offset_at(const Dims& shape, const Dims& strides, int64_t i) {
  if (shape.n == 1) return i * strides[0];
  int64_t at = 0;
  for (int k = shape.n - 1; k >= 0; --k) {
    at += i % shape[k] * strides[k];
    i /= shape[k];
  }
  return at;
}

}  // namespace
}  // namespace tutti
