// Constants and sequences. Constants are written as 64-byte patterns, the same loop for every dtype.
#include "tutti/backends/contract/create.h"

#include <cstring>

#include "tutti/backends/cpu/simd.h"

namespace tutti::kernel {
namespace {

constexpr int64_t grain = 64 * 1024;

template <class T>
void fill_contiguous(T* y, int64_t n, T value) {
  constexpr int64_t per_pattern = 64 / static_cast<int64_t>(sizeof(T));
  T pattern[per_pattern];
  for (T& p : pattern) p = value;
  int64_t i = 0;
  for (; i + per_pattern <= n; i += per_pattern) std::memcpy(y + i, pattern, 64);
  for (; i < n; ++i) y[i] = value;
}

/// y[i] = at(i, T{}), a Number.
template <class F>
void sequence(Rows y, F&& at) {
  for_any(y.dtype, [&]<class T>(T) {
    T* p = static_cast<T*>(y.data);
    parallel_for(y.width, grain, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) p[i] = Number(at(i, T{})).template element<T>(y.dtype);
    });
  });
}

}  // namespace

template <>
void fill::run<Here>(Rows y, Number value) {
  for_any(y.dtype, [&]<class T>(T) {
    const T v = value.element<T>(y.dtype);
    const int64_t rows_per_piece = y.width >= grain ? 1 : y.width > 0 ? grain / y.width : grain;
    parallel_for(y.count, rows_per_piece, [=](int64_t first, int64_t last) {
      for (int64_t row = first; row < last; ++row) {
        T* p = static_cast<T*>(y.data) + row_offset(y.outer, y.outer_strides, row);
        if (y.stride != 1) {
          for (int64_t i = 0; i < y.width; ++i) p[i * y.stride] = v;
        } else {
          parallel_for(y.width, grain, [=](int64_t begin, int64_t end) { fill_contiguous(p + begin, end - begin, v); });
        }
      }
    });
  });
}

template <>
void arange::run<Here>(Rows y, Number first, Number step) {
  sequence(y, [=]<class T>(int64_t i, T) {
    if constexpr (std::is_integral_v<T>)  // the sum lies in range, though i * step may not
      return static_cast<int64_t>(first.as<uint64_t>() + static_cast<uint64_t>(i) * step.as<uint64_t>());
    else
      return first.real() + static_cast<double>(i) * step.real();
  });
}

template <>
void linspace::run<Here>(Rows y, double first, double last) {
  const int64_t n = y.width;
  const double step = n > 1 ? (last - first) / static_cast<double>(n - 1) : 0;
  sequence(y, [=](int64_t i, auto) {
    return i < (n + 1) / 2 ? first + static_cast<double>(i) * step : last - static_cast<double>(n - 1 - i) * step;
  });
}

}  // namespace tutti::kernel
