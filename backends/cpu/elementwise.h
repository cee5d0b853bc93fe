// For kernel files only: elementwise operations over Elements<N>. An operation sees full vectors of its compute type,
// from memory that is contiguous or a repeated constant. The walk (kernels/elementwise.cpp) brings every operand into
// that form: strided ones and those of another dtype go through small buffers on the stack, transposed ones tile by
// tile.
#pragma once
#include <utility>

#include "tutti/backends/contract/view.h"
#include "tutti/backends/cpu/simd.h"

#pragma GCC visibility push(default)  // for kernels outside the library
namespace tutti {

/// One stretch: out[i] = f(in[0][i * step[0]], ...) for i < n. A step is 1, or 0 for a constant, of which `lanes<T>`
/// copies lie in memory.
template <class T>
using Stretch = void (*)(const void* f, T* out, const T* const* in, const int64_t* step, int64_t n);

/// The operands of Elements<N> for any N: the output is number 0. Strides in bytes.
struct Operands {
  static constexpr int max = 4;
  int count;
  Dims shape;
  char* data[max];
  DType dtype[max];
  Dims strides[max];
};

/// Calls f for all stretches, in parallel. A null f copies the only input. T is float, double, int64_t, int32_t or
/// uint8_t: the compute type.
template <class Target, class T>
void walk(Operands& o, Stretch<T> stretch, const void* f);
#pragma GCC visibility pop

namespace {

template <class T, int N, class F, size_t... I>
TUTTI_INLINE void run_stretch(const F& f, T* out, const T* const* in, const int64_t* step, int64_t n,
                              std::index_sequence<I...>) {
  if constexpr (std::is_floating_point_v<T>) {
    constexpr int64_t width = lanes<T>;
    int64_t i = 0;
    for (; i + width <= n; i += width) f(batch<T>::load_unaligned(in[I] + i * step[I])...).store_unaligned(out + i);
    if (i == n) return;
    T part[N + 1][width];  // the rest, filled up with its first element
    for (int k = 0; k < N; ++k)
      for (int64_t j = 0; j < width; ++j) part[k][j] = in[k][(i + j < n ? i + j : i) * step[k]];
    f(batch<T>::load_unaligned(part[I])...).store_unaligned(part[N]);
    for (int64_t j = 0; i + j < n; ++j) out[i + j] = part[N][j];
  } else {
    for (int64_t i = 0; i < n; ++i) out[i] = f(in[I][i * step[I]]...);
  }
}

template <int N>
TUTTI_INLINE Operands operands(const Elements<N>& e) {
  static_assert(N + 1 <= Operands::max);
  Operands o;
  o.count = N + 1;
  o.shape = e.shape;
  for (int k = 0; k <= N; ++k) {
    o.data[k] = k == 0 ? static_cast<char*>(e.out) : static_cast<char*>(const_cast<void*>(e.in[k > 0 ? k - 1 : 0]));
    o.dtype[k] = k == 0 ? e.out_dtype : e.dtype[k - 1];
    o.strides[k] = k == 0 ? e.out_strides : e.in_strides[k - 1];
    for (int i = 0; i < o.strides[k].n; ++i) o.strides[k][i] *= static_cast<int64_t>(size_of(o.dtype[k]));
  }
  return o;
}

/// out = f(in...) elementwise: f takes and returns batch<T> (float, double) or T (integers).
template <class T, int N, class F>
TUTTI_INLINE void elementwise(const Elements<N>& e, const F& f) {
  Operands o = operands(e);
  walk<Here, T>(
      o,
      [](const void* function, T* out, const T* const* in, const int64_t* step, int64_t n) {
        run_stretch<T, N>(*static_cast<const F*>(function), out, in, step, n, std::make_index_sequence<N>{});
      },
      &f);
}

/// f(T{}) with the compute type of a dtype: float (also for the half types), double or an integer.
template <class F>
TUTTI_INLINE void for_compute(DType t, F&& f) {
  switch (t) {
    case DType::float64:
      return f(double{});
    case DType::int64:
      return f(int64_t{});
    case DType::int32:
      return f(int32_t{});
    case DType::uint8:
    case DType::boolean:
      return f(uint8_t{});
    default:
      return f(float{});
  }
}
/// The same for the floating dtypes.
template <class F>
TUTTI_INLINE void for_real(DType t, F&& f) {
  if (t == DType::float64)
    f(double{});
  else
    f(float{});
}

/// e with a number as another operand, in the compute type T: second, or first.
template <class T>
TUTTI_INLINE Elements<2> with_number(const Elements<1>& e, const T& number, bool first) {
  const int x = first ? 1 : 0;
  Elements<2> r;
  r.out = e.out;
  r.out_dtype = e.out_dtype;
  r.shape = e.shape;
  r.out_strides = e.out_strides;
  r.in[x] = e.in[0];
  r.dtype[x] = e.dtype[0];
  r.in_strides[x] = e.in_strides[0];
  r.in[1 - x] = &number;
  r.dtype[1 - x] = dtype_of<T>();
  r.in_strides[1 - x].n = e.shape.n;  // zeros
  return r;
}

}  // namespace
}  // namespace tutti
