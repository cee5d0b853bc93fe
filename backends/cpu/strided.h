// For kernel files: a batch from n <= lanes elements that lie `stride` apart, and where rows begin.
#pragma once
#include "tutti/backends/contract/view.h"
#include "tutti/backends/cpu/part.h"

namespace tutti {
namespace {

/// Elements p[0], p[stride], ...; lanes from n on hold `fill`.
template <class T>
TUTTI_INLINE batch<compute_t<T>> load_strided(const T* p, int64_t stride, int64_t n, compute_t<T> fill = 0) {
  using C = compute_t<T>;
  if (stride == 1) {
    if (n == lanes<C>) return vload(p);
    if constexpr (!is_half<T>) return load_part(p, n, fill);
  }
  alignas(64) C v[lanes<C>];
  for (int64_t i = 0; i < lanes<C>; ++i) v[i] = i < n ? load1(p + i * stride) : fill;
  return batch<C>::load_aligned(v);
}
template <class T>
TUTTI_INLINE void store_strided(T* p, int64_t stride, int64_t n, batch<compute_t<T>> b) {
  using C = compute_t<T>;
  if (stride == 1) {
    if (n == lanes<C>) return vstore(p, b);
    if constexpr (!is_half<T>) return store_part(p, n, b);
  }
  alignas(64) C v[lanes<C>];
  b.store_aligned(v);
  for (int64_t i = 0; i < n; ++i) store1(p + i * stride, v[i]);
}

/// row_offset, without a call where the rows are one axis.
TUTTI_INLINE int64_t offset_of_row(const Dims& outer, const Dims& strides, int64_t row) {
  return outer.n == 1 ? row * strides[0] : row_offset(outer, strides, row);
}

}  // namespace
}  // namespace tutti
