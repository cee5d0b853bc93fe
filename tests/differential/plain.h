// Plain arrays: row-major positions into a memory of Numbers. A view is a list of positions into the same memory, so
// that writing in place shows everywhere as it should; everything else is index loops.
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "differential/number.h"

namespace differential {

using Shape = std::vector<int64_t>;
using Index = std::vector<int64_t>;

enum class Kind { real, integer, narrow, boolean };  // float32 or float64, int64, int32, bool

struct Plain {
  struct Memory {
    std::vector<Number> cells;
    bool frozen = false;  // a recorded operation read it: no more writing
  };
  Kind kind = Kind::real;
  Shape shape;
  bool grad = false;  // wants a gradient
  bool cut = false;   // looks at numbers without their history (detach, no_grad)
  bool same = false;  // of a result: it is the operand itself
  std::shared_ptr<Memory> memory;
  std::vector<int64_t> at;

  int rank() const { return static_cast<int>(shape.size()); }
  int64_t size() const { return static_cast<int64_t>(at.size()); }
  bool defined() const { return memory != nullptr; }
  Number operator[](int64_t i) const {
    const Number x = memory->cells[static_cast<size_t>(at[static_cast<size_t>(i)])];
    return cut ? detached(x) : x;
  }
  Number operator()(const Index& i) const;
  int64_t integer(int64_t i) const { return static_cast<int64_t>(value((*this)[i])); }
};
using Plains = std::vector<Plain>;

int64_t count(const Shape& shape);
/// Every index of the shape, in row-major order.
void each(const Shape& shape, const std::function<void(const Index&)>& body);
int64_t flat(const Shape& shape, const Index& index);
int64_t axis_of(int64_t axis, int rank);  ///< negative ones counted from the end
/// NumPy's; false if the shapes do not broadcast.
bool broadcast(const Shape& a, const Shape& b, Shape& result);
/// The element that an index of the broadcast shape means.
Number pulled(const Plain& x, const Index& index);

/// New memory with element(index).
Plain made(const Shape& shape, const std::function<Number(const Index&)>& element, Kind kind = Kind::real);
/// x as its own result: what has nothing to do returns its operand, gradient and all; under no_grad, detached.
inline Plains itself(Plain x) {
  x.same = true;
  return {x};
}
/// The same memory: element i of the result is element from(i) (flat) of x.
Plain looked_at(const Plain& x, const Shape& shape, const std::function<int64_t(const Index&)>& from);
/// Whether the elements can be stepped through with one stride per axis of `shape`.
bool strided(const Plain& x, const Shape& shape);

}  // namespace differential
