// A list of at most 8 sizes, strides or axes, by value: trivially copyable, so that views and gradient closures can
// hold it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <type_traits>

#include "tutti/core/inline.h"

#pragma GCC visibility push(default)
namespace tutti {

struct Dims {
  static constexpr int max_rank = 8;
  int64_t v[max_rank]{};
  int n = 0;

  Dims() = default;
  /// ShapeError beyond 8 entries.
  Dims(std::initializer_list<int64_t> list) {
    for (int64_t x : list) push(x);
  }
  void push(int64_t x);  ///< appends; ShapeError beyond 8 entries

  TUTTI_INLINE int size() const { return n; }
  TUTTI_INLINE bool empty() const { return n == 0; }
  TUTTI_INLINE int64_t& operator[](int i) { return v[i]; }
  TUTTI_INLINE int64_t operator[](int i) const { return v[i]; }
  TUTTI_INLINE const int64_t* begin() const { return v; }
  TUTTI_INLINE const int64_t* end() const { return v + n; }
  /// The product of the entries; 1 for an empty list.
  TUTTI_INLINE int64_t product() const {
    int64_t p = 1;
    for (int i = 0; i < n; ++i) p *= v[i];
    return p;
  }
  TUTTI_INLINE bool operator==(const Dims& o) const {
    if (n != o.n) return false;
    for (int i = 0; i < n; ++i)
      if (v[i] != o.v[i]) return false;
    return true;
  }
};
static_assert(std::is_trivially_copyable_v<Dims>);

/// Whether the product of the non-zero sizes, times `element` bytes, stays below 2^62 (so that no stride and no byte
/// count of such a shape overflows). Sizes must not be negative.
bool fits_memory(const Dims& shape, size_t element);
/// Row-major strides, in elements.
Dims contiguous_strides(const Dims& shape);
/// "[2, 3]".
std::string to_string(const Dims& d);

}  // namespace tutti
#pragma GCC visibility pop
