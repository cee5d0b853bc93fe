// Windows that slide over images: sizes in two directions.
#pragma once
#include <concepts>
#include <cstdint>

#pragma GCC visibility push(default)
namespace tutti {

/// Height and width: 3 is {3, 3}.
struct Size2d {
  int64_t h, w;
  template <std::integral I>
  requires(!std::same_as<I, bool>) constexpr Size2d(I both)
      : h(static_cast<int64_t>(both)), w(static_cast<int64_t>(both)) {}
  constexpr Size2d(int64_t height, int64_t width) : h(height), w(width) {}
};

}  // namespace tutti
#pragma GCC visibility pop
