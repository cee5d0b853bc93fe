// References of operations along axes: a function of one line, applied to every line of an array.
#pragma once
#include <functional>

#include "support/op_test.h"

namespace tutti_test {

using Values = std::vector<double>;

/// f(line) -> line for every line along `axis`; the result's size there is that of f's result (`length` if there are no
/// lines).
inline Array map_lines(const Array& x, int axis, const std::function<Values(const Values&)>& f, int64_t length) {
  tutti::Dims shape = x.shape;
  shape[axis] = length;
  Array y(shape);
  int64_t inner = 1, outer = 1;
  for (int i = axis + 1; i < shape.n; ++i) inner *= shape[i];
  for (int i = 0; i < axis; ++i) outer *= shape[i];
  const int64_t width = x.shape[axis];
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < inner; ++i) {
      Values line;
      for (int64_t k = 0; k < width; ++k) line.push_back(x[(o * width + k) * inner + i]);
      const Values result = f(line);
      REQUIRE(static_cast<int64_t>(result.size()) == length);
      for (int64_t k = 0; k < length; ++k) y[(o * length + k) * inner + i] = result[static_cast<size_t>(k)];
    }
  return y;
}
inline Array map_lines(const Array& x, int axis, const std::function<Values(const Values&)>& f) {
  return map_lines(x, axis, f, x.shape[axis]);
}

/// f(elements) -> number over several axes (a bit mask), which disappear.
inline Array reduce_axes(const Array& x, unsigned mask, const std::function<double(const Values&)>& f) {
  tutti::Dims kept;
  for (int i = 0; i < x.shape.n; ++i)
    if (!(mask >> i & 1u)) kept.push(x.shape[i]);
  std::vector<Values> sets(static_cast<size_t>(kept.product()));
  for (int64_t e = 0; e < x.numel(); ++e) {
    int64_t rest = e, at = 0, step = 1;
    for (int i = x.shape.n - 1; i >= 0; --i) {
      if (!(mask >> i & 1u)) {
        at += rest % x.shape[i] * step;
        step *= x.shape[i];
      }
      rest /= x.shape[i];
    }
    sets[static_cast<size_t>(at)].push_back(x[e]);
  }
  Array y(kept);
  for (size_t i = 0; i < sets.size(); ++i) y.v[i] = f(sets[i]);
  return y;
}

}  // namespace tutti_test
