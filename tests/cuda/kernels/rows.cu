// Softmax and LayerNorm: a block takes a row, then the next.
#include "block_reduce.h"
#include "kernels.h"

namespace kernels {
namespace {

template <class T>
__global__ void softmax_kernel(const T* x, T* y, int64_t rows, int64_t width) {
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const T* in = x + row * width;
    T* out = y + row * width;
    float most = -INFINITY, sum = 0;
    for (int64_t i = threadIdx.x; i < width; i += blockDim.x) most = max(most, load(in + i));
    most = reduce_block<Max>(most);
    for (int64_t i = threadIdx.x; i < width; i += blockDim.x) sum += expf(load(in + i) - most);
    sum = reduce_block<Sum>(sum);
    for (int64_t i = threadIdx.x; i < width; i += blockDim.x) store(out + i, expf(load(in + i) - most) / sum);
  }
}

/// Four numbers at a time where the layout allows.
template <bool by_four, class F>
__device__ void for_row(const float* x, int64_t width, const F& f) {
  if constexpr (by_four) {
    for (int64_t i = threadIdx.x; i < width / 4; i += blockDim.x) {
      const float4 v = *reinterpret_cast<const float4*>(x + 4 * i);
      f(4 * i, v.x);
      f(4 * i + 1, v.y);
      f(4 * i + 2, v.z);
      f(4 * i + 3, v.w);
    }
  } else {
    for (int64_t i = threadIdx.x; i < width; i += blockDim.x) f(i, x[i]);
  }
}

template <bool by_four>
__global__ void layer_norm_kernel(const float* x, const float* weight, const float* bias, float* y, int64_t rows,
                                  int64_t width, float eps) {
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const float* in = x + row * width;
    const float n = static_cast<float>(width);
    float sum = 0, squares = 0;
    for_row<by_four>(in, width, [&](int64_t, float v) { sum += v; });
    const float mean = reduce_block<Sum>(sum) / n;
    for_row<by_four>(in, width, [&](int64_t, float v) { squares += (v - mean) * (v - mean); });
    const float scale = rsqrtf(reduce_block<Sum>(squares) / n + eps);
    for_row<by_four>(in, width,
                     [&](int64_t i, float v) { y[row * width + i] = (v - mean) * scale * weight[i] + bias[i]; });
  }
}

template <class T>
void start_softmax(const T* x, T* y, int64_t rows, int64_t width, cudaStream_t stream) {
  if (rows * width > 0) launch(softmax_kernel<T>, dim3(blocks_for(rows)), dim3(128), 0, stream, x, y, rows, width);
}

}  // namespace

void softmax(const float* x, float* y, int64_t rows, int64_t width, cudaStream_t stream) {
  start_softmax(x, y, rows, width, stream);
}
void softmax(const __nv_bfloat16* x, __nv_bfloat16* y, int64_t rows, int64_t width, cudaStream_t stream) {
  start_softmax(x, y, rows, width, stream);
}
void layer_norm(const float* x, const float* weight, const float* bias, float* y, int64_t rows, int64_t width,
                float eps, cudaStream_t stream) {
  if (rows * width == 0) return;
  const bool by_four = width % 4 == 0 && reinterpret_cast<uintptr_t>(x) % 16 == 0;
  launch(by_four ? layer_norm_kernel<true> : layer_norm_kernel<false>, dim3(blocks_for(rows)), dim3(96), 0, stream, x,
         weight, bias, y, rows, width, eps);
}

}  // namespace kernels
