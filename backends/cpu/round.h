// For kernel files: results that were computed in double.
#pragma once
#include "tutti/backends/cpu/simd.h"

namespace tutti {
namespace {

/// v, rounded once: by way of float, a half type would round twice.
template <class T>
TUTTI_INLINE void store_double(T* p, double v) {
  if constexpr (is_half<T>)
    *p = T::from(v);
  else
    *p = static_cast<T>(v);
}

}  // namespace
}  // namespace tutti
