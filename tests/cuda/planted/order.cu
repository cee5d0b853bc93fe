// Planted faults: threads and blocks that do not wait for each other, and barriers that not all reach.
#include "common.h"

namespace planted {
namespace {

enum class Barrier { missing, in_a_branch, at_two_places, after_exits };

template <bool right, Barrier wrong>
__global__ void barrier_kernel(const float* x, float* y) {
  SHARED(float, s, [128]);
  const int t = static_cast<int>(threadIdx.x);
  s[t] = x[t];
  if (right) {
    __syncthreads();
  } else if (wrong == Barrier::in_a_branch) {
    if (t < 16) __syncthreads();
  } else if (wrong == Barrier::at_two_places) {
    if (t < 64) {
      __syncthreads();
    } else {
      __syncthreads();
    }
  } else if (wrong == Barrier::after_exits) {
    if (t >= 120) return;
    __syncthreads();
  }
  y[t] = s[(t + 1) % 128];
}
template <Barrier wrong>
bool barrier(bool is_right) {
  Setup s(128);
  start(is_right, std::pair(&barrier_kernel<true, wrong>, &barrier_kernel<false, wrong>), 1, 128, 0, s.stream,
        s.x.data(), s.y.data());
  return s.result() == rotated(s.host, 128);
}

/// The buffer is written again while others still read it.
template <bool right>
__global__ void reuse_kernel(const float* x, float* y) {
  SHARED(float, s, [128]);
  const int t = static_cast<int>(threadIdx.x);
  float sum = 0;
  for (int k = 0; k < 3; ++k) {
    s[t] = x[t] * static_cast<float>(k == 2);
    __syncthreads();
    sum += s[(t + 1) % 128];
    if (right) __syncthreads();
  }
  y[t] = sum;
}
bool reused_buffer(bool right) {
  Setup s(128);
  start(right, BOTH(reuse_kernel), 1, 128, 0, s.stream, s.x.data(), s.y.data());
  return s.result() == rotated(s.host, 128);
}

template <bool right>
__global__ void add_kernel(const float* x, float* y) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (right)
    atomicAdd(y, x[i]);
  else
    y[0] = y[0] + x[i];
}
bool lost_update(bool right) {
  Setup s(256);
  ok(cudaMemsetAsync(s.y.data(), 0, sizeof(float), s.stream));
  start(right, BOTH(add_kernel), 2, 128, 0, s.stream, s.x.data(), s.y.data());
  return s.result()[0] == 256 * 257 / 2;
}
bool not_zeroed(bool right) {
  Setup s(256);
  if (right) ok(cudaMemsetAsync(s.y.data(), 0, sizeof(float), s.stream));
  launch(add_kernel<true>, dim3(2), dim3(128), 0, s.stream, s.x.data(), s.y.data());
  return s.result()[0] == 256 * 257 / 2;
}

/// Block 1 reads what block 0 has written in the same launch.
template <bool right>
__global__ void two_blocks_kernel(const float* x, float* y) {
  const int t = static_cast<int>(threadIdx.x);
  if (blockIdx.x == 0)
    y[t] = x[t];
  else
    y[128 + t] = right ? x[t] : y[t];
}
bool between_blocks(bool right) {
  Setup s(256);
  start(right, BOTH(two_blocks_kernel), 2, 128, 0, s.stream, s.x.data(), s.y.data());
  const auto y = s.result();
  return y[0] == 1 && y[128] == 1 && y[255] == 128;
}

/// The block that comes last sums what all have left; without a fence it may find old values.
template <bool right>
__global__ void last_block_kernel(const float* x, float* partial, unsigned* ticket) {
  SHARED(int, last, [1]);
  const int t = static_cast<int>(threadIdx.x);
  if (t == 0) {
    partial[blockIdx.x] = x[blockIdx.x];
    if (right) __threadfence();
    last[0] = atomicInc(ticket, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last[0]) return;
  if (t == 0) {
    float sum = 0;
    for (unsigned i = 0; i < gridDim.x; ++i) sum += partial[i];
    partial[gridDim.x] = sum;
  }
}
bool no_fence(bool right) {
  Setup s(128);
  const DeviceArray<unsigned> ticket(std::vector<unsigned>{0}, s.stream);
  start(right, BOTH(last_block_kernel), 5, 32, 0, s.stream, s.x.data(), s.y.data(), ticket.data());
  return s.result()[5] == 15;
}

enum class Copies { no_wait, wait_too_weak, no_barrier, overtaken };

/// Asynchronous copies into two buffers in turn.
template <bool right, Copies wrong>
__global__ void pipeline_kernel(const float* x, float* y) {
  SHARED(float, s, [2][128]);
  const int t = static_cast<int>(threadIdx.x);
  __pipeline_memcpy_async(&s[0][t], x + t, sizeof(float));
  __pipeline_commit();
  __pipeline_memcpy_async(&s[1][t], x + 128 + t, sizeof(float));
  __pipeline_commit();
  if (right || wrong != Copies::no_wait) __pipeline_wait_prior(1);
  if (right || wrong != Copies::no_barrier) __syncthreads();
  float sum = s[0][(t + 1) % 128];
  if (!right && wrong == Copies::overtaken) __pipeline_memcpy_async(&s[0][t], x + t, sizeof(float));
  __pipeline_commit();
  __syncthreads();
  __pipeline_wait_prior(!right && wrong == Copies::wait_too_weak ? 2 : 0);
  __syncthreads();
  sum += s[1][(t + 1) % 128];
  __pipeline_wait_prior(0);
  y[t] = sum;
}
template <Copies wrong>
bool copies(bool is_right) {
  Setup s(256);
  start(is_right, std::pair(&pipeline_kernel<true, wrong>, &pipeline_kernel<false, wrong>), 1, 128, 0, s.stream,
        s.x.data(), s.y.data());
  auto y = s.result();
  for (int t = 0; t < 128; ++t)
    if (y[static_cast<size_t>(t)] != static_cast<float>(2 * ((t + 1) % 128 + 1) + 128)) return false;
  return true;
}

}  // namespace

std::vector<Fault> order_faults() {
  const char* const wrong = "wrong result";
  const char* const race = "race (";
  const char* const divergent = "__syncthreads";
  return {
      {"missing barrier", barrier<Barrier::missing>, wrong, wrong, "read of uninitialised shared memory"},
      {"barrier in a branch", barrier<Barrier::in_a_branch>, divergent, divergent,
       "read of uninitialised shared memory"},
      {"barrier at two places", barrier<Barrier::at_two_places>, "divergent __syncthreads", "divergent __syncthreads",
       "divergent __syncthreads"},
      {"barrier after exits", barrier<Barrier::after_exits>, "exited", "exited", "exited"},
      {"buffer used again too soon", reused_buffer, wrong, wrong, race},
      {"lost update", lost_update, nullptr, nullptr, race},
      {"atomicAdd into unzeroed memory", not_zeroed, wrong, wrong, "read of uninitialised device memory"},
      {"race between blocks", between_blocks, wrong, nullptr, race},
      {"last block without a fence", no_fence, nullptr, nullptr, race},
      {"asynchronous copy not waited for", copies<Copies::no_wait>, wrong, wrong,
       "read of uninitialised shared memory"},
      {"asynchronous copy, wait too weak", copies<Copies::wait_too_weak>, wrong, wrong,
       "read of uninitialised shared memory"},
      {"asynchronous copy without a barrier", copies<Copies::no_barrier>, wrong, wrong,
       "read of uninitialised shared memory"},
      {"asynchronous copy overtakes a reader", copies<Copies::overtaken>, wrong, wrong, race},
  };
}

}  // namespace planted
