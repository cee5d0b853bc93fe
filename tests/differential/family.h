// What the families of the table share.
#pragma once
#include "differential/draw.h"
#include "tutti/tutti.h"

namespace differential {

/// The library's function of one tensor.
template <tutti::Tensor (*f)(const tutti::Tensor&)>
Tensors one(const Library&, const Step&, const Tensors& x) {
  return {f(x[0])};
}
template <tutti::Tensor (*f)(const tutti::Tensor&, const tutti::Tensor&)>
Tensors two(const Library&, const Step&, const Tensors& x) {
  return {f(x[0], x[1])};
}
/// Elementwise on plain arrays.
template <Number (*f)(Number)>
Plains elementwise(const Step&, const Plains& x) {
  return {made(x[0].shape, [&](const Index& i) { return f(x[0](i)); })};
}
/// The same with broadcasting.
inline Plain broadcasted(const Plain& a, const Plain& b, Kind kind, const std::function<Number(Number, Number)>& f) {
  Shape shape;
  broadcast(a.shape, b.shape, shape);
  return made(
      shape, [&](const Index& i) { return f(pulled(a, i), pulled(b, i)); }, kind);
}
/// A real value within [low, high] hundredths.
template <int low, int high>
bool within(Draw& draw, Step& step) {
  const int x = draw.within(low / 100.0, high / 100.0);
  step.in = {x};
  return true;
}
inline tutti::Dims dims(const Shape& shape) {
  tutti::Dims d;
  for (int64_t s : shape) d.push(s);
  return d;
}
inline Number integer(int64_t i) { return constant(static_cast<double>(i)); }
inline Kind arithmetic_kind(Draw& draw) { return draw.chance(0.85) ? Kind::real : Kind::integer; }

/// For reductions and row operations: the index with its entry on `axis` replaced; a 0-d array has one row of one.
inline Index with(Index index, int64_t axis, int64_t value) {
  if (!index.empty()) index[static_cast<size_t>(axis)] = value;
  return index;
}
inline int64_t length(const Plain& x, int64_t axis) { return x.rank() ? x.shape[static_cast<size_t>(axis)] : 1; }
/// The shape that a reduction along the axis leaves.
inline Shape reduced(Shape shape, int64_t axis, bool keepdim) {
  if (shape.empty()) return shape;
  if (keepdim)
    shape[static_cast<size_t>(axis)] = 1;
  else
    shape.erase(shape.begin() + axis);
  return shape;
}
/// The row of x along `axis` that an index of the reduced shape means.
inline std::vector<Number> row(const Plain& x, int64_t axis, Index index, bool keepdim) {
  if (!keepdim && x.rank()) index.insert(index.begin() + axis, 0);
  std::vector<Number> all;
  for (int64_t k = 0; k < length(x, axis); ++k) all.push_back(x(with(index, axis, k)));
  return all;
}
/// Added up in runs of 32, and those in turn: one long chain of equal numbers would round the same way each time.
/// The order of the terms is the library's business: its error is that of terms that were each moved a little.
inline Number total(std::vector<Number> x) {
  constexpr size_t run = 32;
  if (x.empty()) return constant(0);
  while (x.size() > 1) {
    std::vector<Number> sums;
    for (size_t i = 0; i < x.size(); ++i)
      if (i % run)
        sums.back() = accumulated(sums.back(), x[i]);
      else
        sums.push_back(x[i]);
    x = std::move(sums);
  }
  return x[0];
}
/// Softmax of a row, shifted by its largest entry (which changes nothing but the range).
inline std::vector<Number> softmaxed(const std::vector<Number>& x) {
  double top = -INFINITY;
  for (Number v : x) top = std::max(top, value(v));
  std::vector<Number> e;
  for (Number v : x) e.push_back(exp(v - constant(top)));
  const Number sum = total(e);
  for (Number& v : e) v = v / sum;
  return e;
}
inline Number logsumexp_of(const std::vector<Number>& x) {
  double top = -INFINITY;
  for (Number v : x) top = std::max(top, value(v));
  std::vector<Number> e;
  for (Number v : x) e.push_back(exp(v - constant(top)));
  return log(total(e)) + constant(top);
}

}  // namespace differential
