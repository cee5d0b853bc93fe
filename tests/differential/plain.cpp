#include "differential/plain.h"

#include <algorithm>

namespace differential {

Number Plain::operator()(const Index& i) const { return (*this)[flat(shape, i)]; }

int64_t count(const Shape& shape) {
  int64_t n = 1;
  for (int64_t s : shape) n *= s;
  return n;
}
void each(const Shape& shape, const std::function<void(const Index&)>& body) {
  const int64_t n = count(shape);
  Index index(shape.size(), 0);
  for (int64_t i = 0; i < n; ++i) {
    body(index);
    for (size_t axis = shape.size(); axis-- > 0;) {
      if (++index[axis] < shape[axis]) break;
      index[axis] = 0;
    }
  }
}
int64_t flat(const Shape& shape, const Index& index) {
  int64_t at = 0;
  for (size_t i = 0; i < shape.size(); ++i) at = at * shape[i] + index[i];
  return at;
}
int64_t axis_of(int64_t axis, int rank) { return axis < 0 ? axis + (rank ? rank : 1) : axis; }
bool broadcast(const Shape& a, const Shape& b, Shape& result) {
  const size_t rank = std::max(a.size(), b.size());
  result.assign(rank, 1);
  for (size_t i = 0; i < rank; ++i) {
    const int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1, y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1) return false;
    result[rank - 1 - i] = x == 1 ? y : x;
  }
  return true;
}
Number pulled(const Plain& x, const Index& index) {
  Index own(x.shape.size());
  for (size_t i = 0; i < own.size(); ++i) own[i] = x.shape[i] == 1 ? 0 : index[index.size() - own.size() + i];
  return x(own);
}

Plain made(const Shape& shape, const std::function<Number(const Index&)>& element, Kind kind) {
  Plain y;
  y.kind = kind;
  y.shape = shape;
  y.memory = std::make_shared<Plain::Memory>();
  each(shape, [&](const Index& i) {
    y.at.push_back(y.size());
    y.memory->cells.push_back(element(i));
  });
  return y;
}
Plain looked_at(const Plain& x, const Shape& shape, const std::function<int64_t(const Index&)>& from) {
  Plain y = x;
  y.shape = shape;
  y.at.clear();
  each(shape, [&](const Index& i) { y.at.push_back(x.at[static_cast<size_t>(from(i))]); });
  return y;
}
bool strided(const Plain& x, const Shape& shape) {
  if (x.at.empty()) return true;
  Index strides(shape.size(), 0);
  for (size_t axis = 0; axis < shape.size(); ++axis)
    if (shape[axis] > 1) {
      Index one(shape.size(), 0);
      one[axis] = 1;
      strides[axis] = x.at[static_cast<size_t>(flat(shape, one))] - x.at[0];
    }
  bool even = true;
  each(shape, [&](const Index& i) {
    int64_t at = x.at[0];
    for (size_t axis = 0; axis < i.size(); ++axis) at += i[axis] * strides[axis];
    even = even && at == x.at[static_cast<size_t>(flat(shape, i))];
  });
  return even;
}

}  // namespace differential
