// For the attention kernels: heads of any strides and dtype to dense blocks and back.
#pragma once
#include <bit>
#include <utility>

#include "tutti/backends/contract/attention.h"
#include "tutti/backends/cpu/simd.h"
#include "tutti/backends/cpu/small_product.h"

namespace tutti {
namespace {

constexpr int64_t round_up(int64_t n, int64_t step) { return (n + step - 1) / step * step; }

/// f(S{}) for the element types that are computed in T.
template <class T, class F>
TUTTI_INLINE void for_storage(DType dtype, F&& f) {
  if constexpr (std::is_same_v<T, double>) {
    f(double{});
  } else {
    if (dtype == DType::float32)
      f(float{});
    else if (dtype == DType::bfloat16)
      f(bfloat16{});
    else
      f(float16{});
  }
}

template <class Void>
TUTTI_INLINE int64_t head_offset(const BasicHeads<Void>& x, int64_t b, int64_t h, int64_t token) {
  return b * x.batch_stride + h * x.head_stride + token * x.token_stride;
}

/// n <= lanes elements, the rest 0.
template <class T, class S>
TUTTI_INLINE batch<T> load_some(const S* p, int64_t n, int64_t stride) {
  if (n == lanes<T> && stride == 1) return vload(p);
  T values[lanes<T>] = {};
  for (int64_t i = 0; i < n; ++i) values[i] = load1(p + i * stride);
  return batch<T>::load_unaligned(values);
}

/// Rows of a head as a product reads them: whole vectors, beyond the width padded with 0.
template <class T>
struct Packed {
  const T* data;
  int64_t row;
  bool finite;  // if that was asked for
};

/// Rows [begin, begin + count) of a head, `to` being room for them, or the head itself if it has the right form.
template <class T>
Packed<T> pack_rows(const ConstHeads& x, int64_t b, int64_t h, int64_t begin, int64_t count, T* to, bool check) {
  constexpr int64_t L = lanes<T>;
  const bool dense = x.stride == 1 && x.width % L == 0;
  const int64_t row = round_up(x.width, L);
  const T* const start = to;
  if (dense && !check && size_of(x.dtype) == sizeof(T))
    return {static_cast<const T*>(x.data) + head_offset(x, b, h, begin), x.token_stride, true};
  batch<T> zeros(T(0));  // x * 0: all its bits but the sign are 0 unless something is infinite or NaN
  for_storage<T>(x.dtype, [&]<class S>(S) {
    const S* from = static_cast<const S*>(x.data) + head_offset(x, b, h, begin);
    for (int64_t r = 0; r < count; ++r, from += x.token_stride, to += row)
      for (int64_t c = 0; c < x.width; c += L) {
        const auto v =
            dense ? vload(from + c) : load_some<T>(from + c * x.stride, x.width - c < L ? x.width - c : L, x.stride);
        zeros = zeros | v * batch<T>(T(0));
        v.store_unaligned(to + c);
      }
  });
  return {start, row, xsimd::all(zeros == batch<T>(T(0)))};
}

template <class T>
struct Vector {
  typedef T type __attribute__((vector_size(sizeof(batch<T>))));
};

/// Lanes of a and b in turn: a0 b0 a1 b1 ..., the first or the second half.
template <bool second, class T, int... I>
TUTTI_INLINE batch<T> zip(const batch<T>& a, const batch<T>& b, std::integer_sequence<int, I...>) {
  using V = typename Vector<T>::type;
  constexpr int L = static_cast<int>(lanes<T>);
  return std::bit_cast<batch<T>>(
      __builtin_shufflevector(std::bit_cast<V>(a), std::bit_cast<V>(b), ((second ? L / 2 : 0) + I / 2 + I % 2 * L)...));
}

/// Rows of a square become columns, all in registers.
template <class T, int N>
TUTTI_INLINE void transpose_square(batch<T> (&v)[N]) {
  using Lanes = std::make_integer_sequence<int, N>;
  unroll<std::bit_width(unsigned{N}) - 1>([&](auto) __attribute__((always_inline)) {
    batch<T> w[N];
    unroll<N / 2>([&](auto i) __attribute__((always_inline)) {
      w[2 * i] = zip<false>(v[i], v[i + N / 2], Lanes{});
      w[2 * i + 1] = zip<true>(v[i], v[i + N / 2], Lanes{});
    });
    unroll<N>([&](auto i) __attribute__((always_inline)) { v[i] = w[i]; });
  });
}

/// The same rows times `factor`, transposed: row r becomes lane r of `to`, whose rows are `row` apart; the lanes up to
/// a multiple of the vector are 0.
template <class T>
void pack_transposed(const ConstHeads& x, int64_t b, int64_t h, int64_t begin, int64_t count, T factor, T* to,
                     int64_t row) {
  constexpr int L = static_cast<int>(lanes<T>);
  const batch<T> scale(factor);
  for_storage<T>(x.dtype, [&]<class S>(S) {
    const S* from = static_cast<const S*>(x.data) + head_offset(x, b, h, begin);
    for (int64_t r = 0; r < count; r += L)
      for (int64_t c = 0; c < x.width; c += L) {
        const int64_t rows = count - r < L ? count - r : L, columns = x.width - c < L ? x.width - c : L;
        const S* const corner = from + r * x.token_stride + c * x.stride;
        batch<T> v[L];
        if (rows == L && columns == L && x.stride == 1)
          unroll<L>([&](auto i) __attribute__((always_inline)) { v[i] = vload(corner + i * x.token_stride) * scale; });
        else
          for (int64_t i = 0; i < L; ++i)
            v[i] = i < rows ? load_some<T>(corner + i * x.token_stride, columns, x.stride) * scale : batch<T>(T(0));
        transpose_square(v);
        if (columns == L)
          unroll<L>([&](auto i) __attribute__((always_inline)) { v[i].store_unaligned(to + (c + i) * row + r); });
        else
          for (int64_t i = 0; i < columns; ++i) v[i].store_unaligned(to + (c + i) * row + r);
      }
  });
}

/// One row of `width` elements, times `factor`, to `to` (`stride` apart).
template <class T, class S>
TUTTI_INLINE void store_row(const T* from, T factor, S* to, int64_t width, int64_t stride) {
  constexpr int64_t L = lanes<T>;
  int64_t c = 0;
  if (stride == 1)
    for (; c + L <= width; c += L) vstore(to + c, batch<T>::load_unaligned(from + c) * batch<T>(factor));
  for (; c < width; ++c) store1(to + c * stride, from[c] * factor);
}

/// `count` rows, each times factor(r), to rows [begin, ..) of a head.
template <class T, class F>
TUTTI_INLINE void store_rows(const T* from, int64_t row, const Heads& x, int64_t b, int64_t h, int64_t begin,
                             int64_t count, F&& factor) {
  for_storage<T>(x.dtype, [&]<class S>(S) {
    S* to = static_cast<S*>(x.data) + head_offset(x, b, h, begin);
    for (int64_t r = 0; r < count; ++r)
      store_row(from + r * row, factor(r), to + r * x.token_stride, x.width, x.stride);
  });
}

}  // namespace
}  // namespace tutti
