// What stands between the brackets of x[{..}].
#pragma once
#include <concepts>
#include <cstdint>

#pragma GCC visibility push(default)
namespace tutti {

/// Positions begin, begin + step, ... before end along an axis; negative ones count from the end, those beyond are cut,
/// as in Python: Slice{} is everything, Slice{1, 3} two positions, Slice{.step = 2} every other one, Slice{.end = -1}
/// all but the last.
struct Slice {
  int64_t begin = 0, end = INT64_MAX, step = 1;
};

/// As many Slice{} as the other axes need: x[{ellipsis, 0}] is position 0 of the last axis.
struct Ellipsis {};
inline constexpr Ellipsis ellipsis{};

/// One position (the axis disappears), a Slice, or the ellipsis.
class TensorIndex {
 public:
  enum class Kind { position, slice, rest };

  template <std::integral I>
  requires(!std::same_as<I, bool>) TensorIndex(I position)
      : kind_(Kind::position), slice_{.begin = static_cast<int64_t>(position)} {}
  TensorIndex(Slice slice) : kind_(Kind::slice), slice_(slice) {}
  TensorIndex(Ellipsis) : kind_(Kind::rest) {}

  Kind kind() const { return kind_; }
  int64_t position() const { return slice_.begin; }
  Slice slice() const { return slice_; }

 private:
  Kind kind_;
  Slice slice_{};
};

}  // namespace tutti
#pragma GCC visibility pop
