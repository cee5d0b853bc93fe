// For kernel files only: the loop over Elements<N>. The operation itself sees full vectors of its compute type, from
// memory that is contiguous or a repeated constant; every other operand (strided, another dtype) is packed into a small
// buffer on the stack first, chunk by chunk, and the output is unpacked likewise.
#pragma once
#include <utility>

#include "tutti/backends/contract/view.h"
#include "tutti/backends/cpu/simd.h"

namespace tutti {
namespace {

constexpr int64_t piece_size = 32768;  // elements per parallel piece
constexpr int64_t chunk_size = 512;    // elements per buffer: a few of these stay in the first-level cache

/// One element from the type it is stored in to the type it is computed in, or back.
template <class To, class From>
TUTTI_INLINE To convert(From x) {
  if constexpr (is_half<From>)
    return convert<To>(static_cast<float>(x));
  else if constexpr (is_half<To>)
    return To::from(static_cast<float>(x));
  else
    return static_cast<To>(x);
}

/// to[i] = from[i * stride].
template <class T>
void pack(T* to, const void* from, DType dtype, int64_t stride, int64_t n) {
  for_any(dtype, [&]<class S>(S) {
    const S* p = static_cast<const S*>(from);
    for (int64_t i = 0; i < n; ++i) to[i] = convert<T>(p[i * stride]);
  });
}

/// to[i * stride] = from[i].
template <class T>
void unpack(void* to, DType dtype, int64_t stride, const T* from, int64_t n) {
  for_any(dtype, [&]<class S>(S) {
    S* p = static_cast<S*>(to);
    for (int64_t i = 0; i < n; ++i) p[i * stride] = convert<S>(from[i]);
  });
}

template <class T, int N, class F, size_t... I>
TUTTI_INLINE void apply(T* out, const T* const (&in)[N], const int64_t (&step)[N], int64_t n, const F& f,
                        std::index_sequence<I...>) {
  if constexpr (std::is_floating_point_v<T>) {
    constexpr int64_t width = lanes<T>;
    int64_t i = 0;
    for (; i + width <= n; i += width) f(batch<T>::load_unaligned(in[I] + i * step[I])...).store_unaligned(out + i);
    if (i == n) return;
    T part[N + 1][width];
    for (int k = 0; k < N; ++k)
      for (int64_t j = 0; j < width; ++j) part[k][j] = in[k][(i + j < n ? i + j : i) * step[k]];
    f(batch<T>::load_unaligned(part[I])...).store_unaligned(part[N]);
    for (int64_t j = 0; i + j < n; ++j) out[i + j] = part[N][j];
  } else {
    for (int64_t i = 0; i < n; ++i) out[i] = f(in[I][i * step[I]]...);
  }
}

/// The operands along one run of the innermost axis.
template <int N>
struct Run {
  char* out;
  const char* in[N];
  int64_t n;
};

template <class T, int N, class F>
void run_inner(const Elements<N>& e, const Run<N>& r, const F& f) {
  constexpr bool vector = std::is_floating_point_v<T>;
  const int last = e.shape.n - 1;
  const DType native = dtype_of<T>();
  alignas(64) T constant[N][lanes<T>];
  alignas(64) T buffer[N + 1][chunk_size];
  const T* in[N];
  int64_t step[N], stride[N];
  bool packed[N], any = false;
  for (int k = 0; k < N; ++k) {
    stride[k] = last < 0 ? 0 : e.in_strides[k][last];
    step[k] = stride[k] == 0 ? 0 : 1;
    packed[k] = false;
    if (stride[k] == 0) {
      pack(constant[k], r.in[k], e.dtype[k], 0, vector ? lanes<T> : 1);
      in[k] = constant[k];
    } else if (stride[k] == 1 && e.dtype[k] == native) {
      in[k] = reinterpret_cast<const T*>(r.in[k]);
    } else {
      packed[k] = any = true;
    }
  }
  const int64_t out_stride = last < 0 ? 1 : e.out_strides[last];
  const bool direct = out_stride == 1 && e.out_dtype == native;
  constexpr auto all = std::make_index_sequence<N>{};
  if (!any && direct) return apply<T, N>(reinterpret_cast<T*>(r.out), in, step, r.n, f, all);
  const auto out_bytes = static_cast<int64_t>(size_of(e.out_dtype)) * out_stride;
  for (int64_t at = 0; at < r.n; at += chunk_size) {
    const int64_t n = r.n - at < chunk_size ? r.n - at : chunk_size;
    const T* here[N];
    for (int k = 0; k < N; ++k) {
      here[k] = in[k] + at * step[k];
      if (!packed[k]) continue;
      pack(buffer[k], r.in[k] + at * stride[k] * static_cast<int64_t>(size_of(e.dtype[k])), e.dtype[k], stride[k], n);
      here[k] = buffer[k];
    }
    T* out = direct ? reinterpret_cast<T*>(r.out) + at : buffer[N];
    apply<T, N>(out, here, step, n, f, all);
    if (!direct) unpack(r.out + at * out_bytes, e.out_dtype, out_stride, buffer[N], n);
  }
}

/// out = f(in...) elementwise: f takes and returns batch<T> (float, double) or T (integers).
template <class T, int N, class F>
void elementwise(const Elements<N>& e, const F& f) {
  const int64_t total = e.shape.product();
  if (total == 0) return;
  const int last = e.shape.n - 1;
  const int64_t width = last < 0 ? 1 : e.shape[last];
  const int64_t grain = width >= piece_size ? piece_size : piece_size / width * width;
  parallel_for(total, grain, [&](int64_t begin, int64_t end) {
    Dims index = e.shape;
    int64_t rest = begin;
    for (int i = last; i >= 0; --i) {
      index[i] = rest % e.shape[i];
      rest /= e.shape[i];
    }
    while (begin < end) {
      int64_t out = 0, in[N] = {};
      for (int i = 0; i <= last; ++i) {
        out += index[i] * e.out_strides[i];
        for (int k = 0; k < N; ++k) in[k] += index[i] * e.in_strides[k][i];
      }
      Run<N> r;
      r.out = static_cast<char*>(e.out) + out * static_cast<int64_t>(size_of(e.out_dtype));
      for (int k = 0; k < N; ++k)
        r.in[k] = static_cast<const char*>(e.in[k]) + in[k] * static_cast<int64_t>(size_of(e.dtype[k]));
      r.n = last < 0 ? 1 : width - index[last];
      if (r.n > end - begin) r.n = end - begin;
      run_inner<T, N>(e, r, f);
      begin += r.n;
      if (last < 0) break;
      index[last] += r.n;
      for (int i = last; i > 0 && index[i] == e.shape[i]; --i) {
        index[i] = 0;
        ++index[i - 1];
      }
    }
  });
}

/// The compute type of a run-time dtype: f(T{}) with float (also for the half types), double or an integer.
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
template <class F>
TUTTI_INLINE void for_real(DType t, F&& f) {
  if (t == DType::float64)
    f(double{});
  else
    f(float{});
}

/// e with a number as another operand, in the compute type T; first or second.
template <class T>
TUTTI_INLINE Elements<2> with_number(const Elements<1>& e, const T& number, bool first) {
  const Dims zero = [&] {
    Dims d = e.shape;
    for (int i = 0; i < d.n; ++i) d[i] = 0;
    return d;
  }();
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
  r.in_strides[1 - x] = zero;
  return r;
}

}  // namespace
}  // namespace tutti
