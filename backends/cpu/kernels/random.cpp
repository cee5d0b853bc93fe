// Random numbers, in groups of 64 words. All values come from loops over plain arrays: the same bits for every
// instruction set and thread count.
#include "tutti/backends/contract/random.h"

#include "tutti/backends/cpu/philox.h"
#include "tutti/backends/cpu/simd.h"
#include "tutti/core/box_muller.h"

namespace tutti::kernel {
namespace {

constexpr int64_t calls_per_piece = 256;

/// Calls make(words, out) for every group of 64 words: out has room for 64 / WordsPerElement elements of y.
template <int WordsPerElement, class T, class F>
void generate(Rows y, RandomKey key, const F& make) {
  constexpr int64_t per_call = words_per_call / WordsPerElement;
  const int64_t n = y.width;
  T* data = static_cast<T*>(y.data);
  parallel_for((n + per_call - 1) / per_call, calls_per_piece, [=, &make](int64_t begin, int64_t end) {
    for (int64_t call = begin; call < end; ++call) {
      alignas(64) uint32_t words[words_per_call];
      philox_words(key, call, words);
      const int64_t at = call * per_call;
      if (at + per_call <= n) {
        make(words, data + at);
      } else {
        T last[per_call];
        make(words, last);
        for (int64_t i = 0; at + i < n; ++i) data[at + i] = last[i];
      }
    }
  });
}

template <class T>
TUTTI_INLINE T from_word(uint32_t word) {
  if constexpr (std::is_same_v<T, float16>)
    return T::from(static_cast<float>(word >> 21) * 0x1p-11f);
  else if constexpr (std::is_same_v<T, bfloat16>)
    return T::from(static_cast<float>(word >> 24) * 0x1p-8f);
  else
    return uniform01(word);
}

/// floor(u * range / 2^64).
TUTTI_INLINE uint64_t scaled(uint32_t high, uint32_t low, uint64_t range) {
  if (range <= uint64_t{1} << 32) return (high * range + (low * range >> 32)) >> 32;
  __extension__ using Wide = unsigned __int128;
  return static_cast<uint64_t>((uint64_t{high} << 32 | low) * Wide{range} >> 64);
}

template <class T, class V>
TUTTI_INLINE T number(V value) {
  if constexpr (is_half<T>)
    return T::from(static_cast<float>(value));
  else
    return static_cast<T>(value);
}

}  // namespace

template <>
void random_uniform::run<Here>(Rows y, DrawKey key) {
  for_float(y.dtype, [&]<class T>(T) {
    if constexpr (std::is_same_v<T, double>)
      generate<2, T>(y, key.now(), [](const uint32_t(&w)[words_per_call], T* __restrict out) {
        for (int i = 0; i < words_per_call / 2; ++i) out[i] = uniform01(w[2 * i], w[2 * i + 1]);
      });
    else
      generate<1, T>(y, key.now(), [](const uint32_t(&w)[words_per_call], T* __restrict out) {
        for (int i = 0; i < words_per_call; ++i) out[i] = from_word<T>(w[i]);
      });
  });
}

template <>
void random_normal::run<Here>(Rows y, DrawKey key) {
  for_float(y.dtype, [&]<class T>(T) {
    if constexpr (std::is_same_v<T, double>) {
      generate<2, T>(y, key.now(), [](const uint32_t(&w)[words_per_call], T* __restrict out) {
        constexpr int n = words_per_call / 4;
        T u[n], v[n], a[n], b[n];
        for (int i = 0; i < n; ++i) {
          u[i] = uniform_above_zero(w[4 * i], w[4 * i + 1]);
          v[i] = uniform_above_zero(w[4 * i + 2], w[4 * i + 3]);
        }
        for (int i = 0; i < n; ++i) box_muller(u[i], v[i], a[i], b[i]);
        for (int i = 0; i < n; ++i) {
          out[2 * i] = a[i];
          out[2 * i + 1] = b[i];
        }
      });
    } else {
      generate<1, T>(y, key.now(), [](const uint32_t(&w)[words_per_call], T* __restrict out) {
        constexpr int n = words_per_call / 2;
        float u[n], v[n], a[n], b[n];
        for (int i = 0; i < n; ++i) {
          u[i] = uniform_above_zero(w[2 * i]);
          v[i] = uniform_above_zero(w[2 * i + 1]);
        }
        for (int i = 0; i < n; ++i) box_muller(u[i], v[i], a[i], b[i]);
        for (int i = 0; i < n; ++i) {
          store1(out + 2 * i, a[i]);
          store1(out + 2 * i + 1, b[i]);
        }
      });
    }
  });
}

template <>
void random_integer::run<Here>(Rows y, DrawKey key, int64_t low, uint64_t range) {
  for_any(y.dtype, [&]<class T>(T) {
    generate<2, T>(y, key.now(), [=](const uint32_t(&w)[words_per_call], T* __restrict out) {
      for (int i = 0; i < words_per_call / 2; ++i)
        out[i] = number<T>(static_cast<int64_t>(static_cast<uint64_t>(low) + scaled(w[2 * i], w[2 * i + 1], range)));
    });
  });
}

template <>
void random_bernoulli::run<Here>(Rows y, DrawKey key, uint32_t threshold) {
  for_any(y.dtype, [&]<class T>(T) {
    generate<1, T>(y, key.now(), [=](const uint32_t(&w)[words_per_call], T* __restrict out) {
      for (int i = 0; i < words_per_call; ++i) out[i] = number<T>(w[i] < threshold ? 1 : 0);
    });
  });
}

}  // namespace tutti::kernel
