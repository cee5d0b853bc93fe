// Dropout: 64 words, 64 elements at a time; a strided input is walked in row-major order.
#include "tutti/backends/contract/random.h"
#include "tutti/backends/cpu/philox.h"
#include "tutti/backends/cpu/simd.h"

namespace tutti::kernel {
namespace {

constexpr int64_t calls_per_piece = 256;

/// to[0 .. n) = elements begin ... of a strided input, in row-major order.
template <class T>
void gather(T* to, const Elements<1>& e, int64_t begin, int64_t n) {
  const T* from = static_cast<const T*>(e.in[0]);
  const int last = e.shape.n - 1;
  if (last < 0) {
    to[0] = from[0];
    return;
  }
  const int64_t width = e.shape[last], stride = e.in_strides[0][last];
  Dims outer = e.shape, strides = e.in_strides[0];
  outer.n = strides.n = last;
  while (n > 0) {
    const int64_t column = begin % width, run = width - column < n ? width - column : n;
    const T* p = from + row_offset(outer, strides, begin / width) + column * stride;
    for (int64_t i = 0; i < run; ++i) to[i] = p[i * stride];
    to += run;
    begin += run;
    n -= run;
  }
}

/// By masks, not branches, so that it vectorises everywhere; a dropped NaN is a zero too.
template <class T>
TUTTI_INLINE void drop(const uint32_t (&words)[words_per_call], uint32_t threshold, compute_t<T> scale,
                       const T* __restrict x, T* __restrict y) {
  using Bits = std::conditional_t<sizeof(T) == 2, uint16_t, std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>;
  for (int i = 0; i < words_per_call; ++i) {
    T kept;
    store1(&kept, load1(x + i) * scale);
    const auto mask = static_cast<Bits>(Bits{0} - static_cast<Bits>(words[i] >= threshold));
    y[i] = std::bit_cast<T>(static_cast<Bits>(std::bit_cast<Bits>(kept) & mask));
  }
}

}  // namespace

template <>
void dropout::run<Here>(const Elements<1>& e, DrawKey draw, uint32_t threshold, double scale) {
  const RandomKey key = draw.now();
  const int64_t n = e.shape.product();
  const bool direct = e.shape.n == 1 && e.in_strides[0][0] == 1;
  for_float(e.out_dtype, [&]<class T>(T) {
    const auto factor = static_cast<compute_t<T>>(scale);
    T* y = static_cast<T*>(e.out);
    const T* x = static_cast<const T*>(e.in[0]);
    parallel_for((n + words_per_call - 1) / words_per_call, calls_per_piece, [=, &e](int64_t begin, int64_t end) {
      for (int64_t call = begin; call < end; ++call) {
        alignas(64) uint32_t words[words_per_call];
        philox_words(key, call, words);
        const int64_t at = call * words_per_call, left = n - at;
        T in[words_per_call] = {}, out[words_per_call];
        const T* from = in;
        if (left < words_per_call || !direct)
          gather(in, e, at, left < words_per_call ? left : words_per_call);
        else
          from = x + at;
        if (left >= words_per_call) {
          drop(words, threshold, factor, from, y + at);
        } else {
          drop(words, threshold, factor, from, out);
          for (int64_t i = 0; i < left; ++i) y[at + i] = out[i];
        }
      }
    });
  });
}

}  // namespace tutti::kernel
