// For kernel files: the order in which extrema are ranked.
#pragma once
#include "tutti/backends/cpu/simd.h"

namespace tutti {
namespace {

/// x beats y: it is larger (smaller), or a NaN while y is none.
template <bool largest, class C>
TUTTI_INLINE bool beats(C x, C y) {
  if constexpr (std::is_integral_v<C>)
    return largest ? x > y : x < y;
  else
    return !(largest ? x <= y : x >= y) && !(y != y);
}
template <bool largest, class C>
TUTTI_INLINE auto beats(batch<C> x, batch<C> y) {
  if constexpr (largest)
    return !(x <= y) && (y == y);
  else
    return !(x >= y) && (y == y);
}

}  // namespace
}  // namespace tutti
