// Constants and sequences. Constants are written as 64-byte patterns, the same loop for every dtype.
#include "tutti/backends/contract/create.h"

#include <cstring>

#include "tutti/backends/cpu/simd.h"

namespace tutti::kernel {
namespace {

constexpr int64_t grain = 64 * 1024;

template <class T>
T converted(DType dtype, double value) {
  if constexpr (is_half<T>)
    return T::from(static_cast<float>(value));
  else if constexpr (std::is_same_v<T, uint8_t>)
    return dtype == DType::boolean ? uint8_t{value != 0} : static_cast<uint8_t>(value);
  else
    return static_cast<T>(value);
}

template <class T>
void fill_contiguous(T* y, int64_t n, T value) {
  constexpr int64_t per_pattern = 64 / static_cast<int64_t>(sizeof(T));
  T pattern[per_pattern];
  for (T& p : pattern) p = value;
  int64_t i = 0;
  for (; i + per_pattern <= n; i += per_pattern) std::memcpy(y + i, pattern, 64);
  for (; i < n; ++i) y[i] = value;
}

template <class F>
void sequence(Rows y, F&& at) {
  for_any(y.dtype, [&]<class T>(T) {
    T* p = static_cast<T*>(y.data);
    parallel_for(y.width, grain, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) p[i] = converted<T>(y.dtype, at(i));
    });
  });
}

}  // namespace

template <>
void fill::run<Here>(Rows y, double value) {
  for_any(y.dtype, [&]<class T>(T) {
    const T v = converted<T>(y.dtype, value);
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
void arange::run<Here>(Rows y, double first, double step) {
  sequence(y, [=](int64_t i) { return first + static_cast<double>(i) * step; });
}

template <>
void linspace::run<Here>(Rows y, double first, double last) {
  const int64_t n = y.width;
  const double step = n > 1 ? (last - first) / static_cast<double>(n - 1) : 0;
  sequence(y, [=](int64_t i) {
    return i < (n + 1) / 2 ? first + static_cast<double>(i) * step : last - static_cast<double>(n - 1 - i) * step;
  });
}

}  // namespace tutti::kernel
