// Random numbers: the CPU's, bit for bit. A thread draws a block of four words and writes what they make.
#include "tutti/backends/contract/random.h"

#include "tutti/backends/cuda/device.h"
#include "tutti/core/box_muller.h"
#include "tutti/core/philox.h"

namespace tutti::kernel {
namespace {

/// make(words) gives the V elements of y that block number i makes. y is new: aligned.
template <int V, class T, class F>
__global__ void generate_kernel(T* y, int64_t n, DrawKey draw, F make) {
  const RandomKey key = draw.now();
  const int64_t blocks = (n + V - 1) / V;
  for (int64_t i = thread_index(); i < blocks; i += thread_count()) {
    const Pack<T, V> made = make(philox(key, static_cast<uint64_t>(i)));
    if ((i + 1) * V <= n) {
      *reinterpret_cast<Pack<T, V>*>(y + i * V) = made;
    } else {
      TUTTI_UNROLL
      for (int j = 0; j < V; ++j)
        if (i * V + j < n) y[i * V + j] = made.v[j];
    }
  }
}
template <int V, class T, class F>
void generate(const Rows& y, DrawKey key, const F& make) {
  if (y.width == 0) return;
  const int64_t blocks = (y.width + V - 1) / V;
  const int block = threads_for(blocks);
  start(generate_kernel<V, T, F>, blocks_for(blocks, block), block, 0, static_cast<T*>(y.data), y.width, key, make);
}

/// Elements of T that a block makes where each takes one word; of double, two.
template <class T>
inline constexpr int per_block = sizeof(T) == 8 ? 2 : 4;

template <class T>
struct Uniform {
  __device__ Pack<T, per_block<T>> operator()(const Philox4& w) const {
    Pack<T, per_block<T>> y;
    TUTTI_UNROLL
    for (int i = 0; i < per_block<T>; ++i) {
      if constexpr (sizeof(T) == 8)
        y.v[i] = uniform01(w.v[2 * i], w.v[2 * i + 1]);
      else if constexpr (std::is_same_v<T, float16>)
        y.v[i] = T::from(static_cast<float>(w.v[i] >> 21) * 0x1p-11f);
      else if constexpr (std::is_same_v<T, bfloat16>)
        y.v[i] = T::from(static_cast<float>(w.v[i] >> 24) * 0x1p-8f);
      else
        y.v[i] = uniform01(w.v[i]);
    }
    return y;
  }
};

template <class T>
struct Normal {
  __device__ Pack<T, per_block<T>> operator()(const Philox4& w) const {
    Pack<T, per_block<T>> y;
    compute_t<T> a, b;
    TUTTI_UNROLL
    for (int i = 0; i < per_block<T>; i += 2) {
      if constexpr (sizeof(T) == 8)
        box_muller(uniform_above_zero(w.v[0], w.v[1]), uniform_above_zero(w.v[2], w.v[3]), a, b);
      else
        box_muller(uniform_above_zero(w.v[i]), uniform_above_zero(w.v[i + 1]), a, b);
      store(&y.v[i], a);
      store(&y.v[i + 1], b);
    }
    return y;
  }
};

template <class T, class V>
__device__ T number(V value) {
  if constexpr (is_half<T>)
    return T::from(static_cast<float>(value));
  else
    return static_cast<T>(value);
}

template <class T>
struct Integer {
  uint64_t low, range;
  __device__ Pack<T, 2> operator()(const Philox4& w) const {
    Pack<T, 2> y;
    TUTTI_UNROLL
    for (int i = 0; i < 2; ++i) {
      const uint64_t u = uint64_t{w.v[2 * i]} << 32 | w.v[2 * i + 1];
      y.v[i] = number<T>(static_cast<int64_t>(low + __umul64hi(u, range)));
    }
    return y;
  }
};

template <class T>
struct Bernoulli {
  uint32_t threshold;
  __device__ Pack<T, 4> operator()(const Philox4& w) const {
    Pack<T, 4> y;
    TUTTI_UNROLL
    for (int i = 0; i < 4; ++i) y.v[i] = number<T>(w.v[i] < threshold ? 1 : 0);
    return y;
  }
};

}  // namespace

template <>
void random_uniform::run<Here>(Rows y, DrawKey key) {
  for_float(y.dtype, [&]<class T>(T) { generate<per_block<T>, T>(y, key, Uniform<T>{}); });
}

template <>
void random_normal::run<Here>(Rows y, DrawKey key) {
  for_float(y.dtype, [&]<class T>(T) { generate<per_block<T>, T>(y, key, Normal<T>{}); });
}

template <>
void random_integer::run<Here>(Rows y, DrawKey key, int64_t low, uint64_t range) {
  for_any(y.dtype, [&]<class T>(T) { generate<2, T>(y, key, Integer<T>{static_cast<uint64_t>(low), range}); });
}

template <>
void random_bernoulli::run<Here>(Rows y, DrawKey key, uint32_t threshold) {
  for_any(y.dtype, [&]<class T>(T) { generate<4, T>(y, key, Bernoulli<T>{threshold}); });
}

}  // namespace tutti::kernel
