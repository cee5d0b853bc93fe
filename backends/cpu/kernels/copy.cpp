// Copies, conversions and fills on the CPU.
#include "tutti/backends/contract/copy.h"

#include "tutti/backends/cpu/elementwise.h"

namespace tutti {
namespace {

template <class To, class From>
TUTTI_INLINE To convert_value(From x, bool to_bool) {
  if constexpr (is_half<From>) {
    return convert_value<To>(static_cast<float>(x), to_bool);
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    if (to_bool) return static_cast<To>(x != 0);
    return static_cast<To>(static_cast<int64_t>(x));
  } else {
    if (to_bool) return convert<To>(static_cast<uint8_t>(x != 0));
    return convert<To>(x);
  }
}

/// Walks rows of the innermost axis: f(out, in, n) for each.
template <class F>
void for_runs(const Elements<1>& e, const F& f) {
  const int64_t total = e.shape.product();
  if (total == 0) return;
  const int last = e.shape.n - 1;
  const int64_t width = last < 0 ? 1 : e.shape[last];
  Dims outer = e.shape, out_strides = e.out_strides, in_strides = e.in_strides[0];
  outer.n = out_strides.n = in_strides.n = last < 0 ? 0 : last;
  const int64_t grain = width >= piece_size ? 1 : piece_size / width;
  parallel_for(total / width, grain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row)
      f(row_offset(outer, out_strides, row), row_offset(outer, in_strides, row), width);
  });
}

}  // namespace

template <>
void kernel::copy::run<Here>(const Elements<1>& e) {
  const int last = e.shape.n - 1;
  const int64_t out_stride = last < 0 ? 0 : e.out_strides[last], in_stride = last < 0 ? 0 : e.in_strides[0][last];
  const bool to_bool = e.out_dtype == DType::boolean;
  for_any(e.out_dtype, [&]<class To>(To) {
    for_any(e.dtype[0], [&]<class From>(From) {
      for_runs(e, [&](int64_t out, int64_t in, int64_t n) {
        To* to = static_cast<To*>(e.out) + out;
        const From* from = static_cast<const From*>(e.in[0]) + in;
        for (int64_t i = 0; i < n; ++i) to[i * out_stride] = convert_value<To>(from[i * in_stride], to_bool);
      });
    });
  });
}

template <>
void kernel::fill::run<Here>(const Elements<1>& e, double value) {
  const int last = e.shape.n - 1;
  const int64_t stride = last < 0 ? 0 : e.out_strides[last];
  for_any(e.out_dtype, [&]<class T>(T) {
    const T v = convert_value<T>(value, e.out_dtype == DType::boolean);
    for_runs(e, [&](int64_t out, int64_t, int64_t n) {
      T* to = static_cast<T*>(e.out) + out;
      for (int64_t i = 0; i < n; ++i) to[i * stride] = v;
    });
  });
}

}  // namespace tutti
