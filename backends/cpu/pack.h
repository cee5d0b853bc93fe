// For kernel files only: conversion between what is stored and what is computed with, and transposed copies.
#pragma once
#include <cstring>
#include <limits>

#include "tutti/backends/cpu/simd.h"

namespace tutti {
namespace {

/// One element in another type. Floats become integers by truncation; what does not fit becomes the nearest that does,
/// NaN becomes 0 (on every instruction set).
template <class To, class From>
TUTTI_INLINE To convert(From x) {
  if constexpr (is_half<From>) {
    return convert<To>(static_cast<float>(x));
  } else if constexpr (is_half<To> && std::is_integral_v<From>) {
    return To::from(static_cast<int64_t>(x));
  } else if constexpr (is_half<To>) {
    return To::from(x);
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    constexpr auto low = std::numeric_limits<To>::min(), high = std::numeric_limits<To>::max();
    constexpr auto end = static_cast<From>(high / 2 + 1) * 2;  // exact, unlike high itself
    return x != x ? To{0} : x < static_cast<From>(low) ? low : x >= end ? high : static_cast<To>(x);
  } else {
    return static_cast<To>(x);
  }
}

/// to[i] = from[i * stride], stride in bytes.
template <class T>
void pack(T* to, const char* from, DType dtype, int64_t stride, int64_t n) {
  for_any(dtype, [&]<class S>(S) {
    if constexpr (std::is_same_v<S, T>) {
      if (stride == sizeof(T)) {
        std::memcpy(to, from, static_cast<size_t>(n) * sizeof(T));
        return;
      }
    } else if constexpr (is_half<S> && std::is_same_v<T, float>) {
      if (stride == sizeof(S)) {
        const S* p = reinterpret_cast<const S*>(from);
        int64_t i = 0;
        for (; i + lanes<float> <= n; i += lanes<float>) vload(p + i).store_unaligned(to + i);
        for (; i < n; ++i) to[i] = static_cast<float>(p[i]);
        return;
      }
    }
    for (int64_t i = 0; i < n; ++i) to[i] = convert<T>(*reinterpret_cast<const S*>(from + i * stride));
  });
}

/// to[i * stride] = from[i], stride in bytes.
template <class T>
void unpack(char* to, DType dtype, int64_t stride, const T* from, int64_t n) {
  if (dtype == DType::boolean) {  // conditions, computed as 0 and 1
    for (int64_t i = 0; i < n; ++i) to[i * stride] = from[i] != T{0};
    return;
  }
  for_any(dtype, [&]<class S>(S) {
    if constexpr (is_half<S> && std::is_same_v<T, float>) {
      if (stride == sizeof(S)) {
        S* p = reinterpret_cast<S*>(to);
        int64_t i = 0;
        for (; i + lanes<float> <= n; i += lanes<float>) vstore(p + i, batch<float>::load_unaligned(from + i));
        for (; i < n; ++i) p[i] = S::from(from[i]);
        return;
      }
    }
    for (int64_t i = 0; i < n; ++i) *reinterpret_cast<S*>(to + i * stride) = convert<S>(from[i]);
  });
}

/// The transpose of n x n elements, n = 16 bytes' worth, from `from` to `to`. Strides in elements.
template <class T>
TUTTI_INLINE void transpose_block(T* to, int64_t to_stride, const T* from, int64_t from_stride) {
  typedef T V __attribute__((vector_size(16), aligned(alignof(T)), may_alias));
  const auto in = [&](int64_t i) { return *reinterpret_cast<const V*>(from + i * from_stride); };
  const auto put = [&](int64_t i, V v) { *reinterpret_cast<V*>(to + i * to_stride) = v; };
  const V a = in(0), b = in(1);
  if constexpr (sizeof(T) == 8) {
    put(0, __builtin_shufflevector(a, b, 0, 2));
    put(1, __builtin_shufflevector(a, b, 1, 3));
  } else {
    const V c = in(2), d = in(3);
    const V ab0 = __builtin_shufflevector(a, b, 0, 4, 1, 5), ab1 = __builtin_shufflevector(a, b, 2, 6, 3, 7);
    const V cd0 = __builtin_shufflevector(c, d, 0, 4, 1, 5), cd1 = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    put(0, __builtin_shufflevector(ab0, cd0, 0, 1, 4, 5));
    put(1, __builtin_shufflevector(ab0, cd0, 2, 3, 6, 7));
    put(2, __builtin_shufflevector(ab1, cd1, 0, 1, 4, 5));
    put(3, __builtin_shufflevector(ab1, cd1, 2, 3, 6, 7));
  }
}

/// to[r * to_stride + c] = from[c * from_stride + r] for r < rows, c < cols. Strides in elements.
template <class T>
void transpose_tile(T* to, int64_t to_stride, const T* from, int64_t from_stride, int64_t rows, int64_t cols) {
  constexpr int64_t line = sizeof(T) < 4 ? 0 : 64 / sizeof(T), n = 16 / sizeof(T);
  int64_t r = 0;
  if constexpr (line > 0) {
    alignas(64) T stage[line * line];
    for (; r + line <= rows; r += line) {
      int64_t c = 0;
      for (; c + line <= cols; c += line) {
        // Large strides are often powers of two, whose lines compete for one set of the cache: whole lines are read
        // once, and written once.
        for (int64_t i = 0; i < line; ++i) std::memcpy(stage + i * line, from + (c + i) * from_stride + r, 64);
        for (int64_t i = 0; i < line; i += n)
          for (int64_t j = 0; j < line; j += n)
            transpose_block(to + (r + i) * to_stride + c + j, to_stride, stage + j * line + i, line);
      }
      for (; c < cols; ++c)
        for (int64_t i = 0; i < line; ++i) to[(r + i) * to_stride + c] = from[c * from_stride + r + i];
    }
  }
  for (; r < rows; ++r)
    for (int64_t c = 0; c < cols; ++c) to[r * to_stride + c] = from[c * from_stride + r];
}

}  // namespace
}  // namespace tutti
