// Planted faults: lanes of a warp.
#include "common.h"

namespace planted {
namespace {

constexpr unsigned full_warp = 0xffffffffu;

template <bool right>
__global__ void exchange_kernel(const float* x, float* y) {
  SHARED(float, s, [128]);
  const int t = static_cast<int>(threadIdx.x);
  s[t] = x[t];
  if (right) __syncwarp();
  y[t] = s[t / 32 * 32 + (t + 1) % 32];
}
bool no_syncwarp(bool right) {
  Setup s(128);
  start(right, BOTH(exchange_kernel), 1, 128, 0, s.stream, s.x.data(), s.y.data());
  return s.result() == rotated(s.host, 32);
}

template <bool right>
__global__ void exited_kernel(const float* x, float* y, int n) {
  const int t = static_cast<int>(threadIdx.x);
  if (!right && t >= n) return;
  float v = t < n ? x[t] : 0.0f;
  for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(full_warp, v, o);
  if (t < n) y[t] = v;
}
bool shuffle_after_exit(bool right) {
  Setup s(32);
  start(right, BOTH(exited_kernel), 1, 32, 0, s.stream, s.x.data(), s.y.data(), 20);
  return s.result()[0] == 210;
}

template <bool right>
__global__ void branch_kernel(const float* x, float* y) {
  const int t = static_cast<int>(threadIdx.x);
  float v = x[t];
  if (right) {
    const float other = __shfl_xor_sync(full_warp, v, 16);
    if (t < 16) v += other;
  } else if (t < 16) {
    v += __shfl_xor_sync(full_warp, v, 16);
  }
  y[t] = v;
}
bool shuffle_in_branch(bool right) {
  Setup s(32);
  start(right, BOTH(branch_kernel), 1, 32, 0, s.stream, s.x.data(), s.y.data());
  const auto y = s.result();
  return y[0] == 18 && y[31] == 32;
}

/// A lane that the mask does not name: what it gets is undefined.
template <bool right>
__global__ void mask_kernel(const float* x, float* y) {
  const int t = static_cast<int>(threadIdx.x);
  float v = x[t];
  if (right || t < 16) v = __shfl_sync(right ? full_warp : 0xffffu, v, right ? 0 : 16);
  y[t] = v;
}
bool shuffle_from_outside_mask(bool right) {
  Setup s(32);
  start(right, BOTH(mask_kernel), 1, 32, 0, s.stream, s.x.data(), s.y.data());
  return s.result()[5] == 1;
}

/// ldmatrix wants rows of 16 bytes, wmma matrices of 32.
template <bool right>
__global__ void matrix_kernel(const float* x, float* y) {
  SHARED_ALIGNED(16, __half, tile, [8 * 12 * 4]);
  const int t = static_cast<int>(threadIdx.x), pitch = right ? 8 : 12;
  for (int i = t; i < 8 * 12 * 4; i += 32) tile[i] = __float2half(x[0]);
  __syncwarp();
  unsigned r[4];
  ptx::ldmatrix_x4(r, tile + t * pitch);
  y[t] = __uint_as_float(r[0]);
}
bool misaligned_ldmatrix(bool right) {
  Setup s(32);
  start(right, BOTH(matrix_kernel), 1, 32, 0, s.stream, s.x.data(), s.y.data());
  return s.result()[0] == s.result()[31];
}

template <bool right>
__global__ void wmma_kernel(float* y) {
  using namespace nvcuda;
  SHARED_ALIGNED(right ? 32 : 16, float, tile, [256]);
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> f;
  wmma::fill_fragment(f, 3.0f);
  wmma::store_matrix_sync(tile, f, 16, wmma::mem_row_major);
  __syncwarp();
  y[threadIdx.x] = tile[threadIdx.x];
}
bool misaligned_wmma(bool right) {
  Setup s(32);
  start(right, BOTH(wmma_kernel), 1, 32, 0, s.stream, s.y.data());
  return s.result()[31] == 3;
}

/// The matrix functions wait for the lanes and do not order memory.
template <bool right>
__global__ void unordered_wmma_kernel(const float* x, float* y) {
  using namespace nvcuda;
  SHARED_ALIGNED(32, float, tile, [256]);
  for (int i = static_cast<int>(threadIdx.x); i < 256; i += 32) tile[i] = x[0];
  if (right) __syncwarp();
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> f;
  wmma::load_matrix_sync(f, tile, 16, wmma::mem_row_major);
  y[threadIdx.x] = f.x[0];
}
bool wmma_without_syncwarp(bool right) {
  Setup s(32);
  start(right, BOTH(unordered_wmma_kernel), 1, 32, 0, s.stream, s.x.data(), s.y.data());
  return s.result()[31] == 1;
}

}  // namespace

std::vector<Fault> warp_faults() {
  const char* const wrong = "wrong result";
  const char* const exited = "exited";
  return {
      {"exchange without __syncwarp", no_syncwarp, wrong, wrong, "read of uninitialised shared memory"},
      {"shuffle after lanes have exited", shuffle_after_exit, exited, exited, exited},
      {"shuffle in a branch", shuffle_in_branch, exited, exited, exited},
      {"shuffle from outside the mask", shuffle_from_outside_mask, wrong, wrong, wrong},
      {"ldmatrix with a bad pitch", misaligned_ldmatrix, "ldmatrix: a row", "ldmatrix: a row", "ldmatrix: a row"},
      {"wmma load without __syncwarp", wmma_without_syncwarp, nullptr, nullptr, "race (read after write)"},
      {"wmma on 16 bytes", misaligned_wmma, "not aligned to 32 bytes", "not aligned to 32 bytes",
       "not aligned to 32 bytes"},
  };
}

}  // namespace planted
