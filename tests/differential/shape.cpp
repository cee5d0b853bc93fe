// Table: views (ops/shape.h), and Tensor::detach.
#include <algorithm>
#include <numeric>

#include "differential/family.h"

using namespace tutti;

namespace differential {
namespace {

int any(Draw& draw, const Draw::Test& test = {}) {
  const Kind kinds[] = {Kind::real, Kind::real, Kind::real, Kind::real, Kind::integer, Kind::boolean};
  return draw.pick(kinds[draw.below(6)], test);
}
bool anything(Draw& draw, Step& step) {
  step.in = {any(draw)};
  return true;
}
/// A shape of as many elements; a -1 where that is allowed.
bool other_shape(Draw& draw, Step& step) {
  const int x = any(draw);
  step.in = {x};
  const int64_t elements = draw[x].size();
  int64_t left = elements;
  step.n = {};
  while (left > 1 && step.n.size() < 4) {
    int64_t d = 1 + draw.below(std::min<int64_t>(left, 8));
    while (left % d) --d;
    step.n.push_back(d);
    left /= d;
  }
  if (left != 1) step.n.push_back(left);
  if (draw.chance(0.2)) step.n.insert(step.n.begin() + draw.below(static_cast<int64_t>(step.n.size()) + 1), 1);
  if (elements && !step.n.empty() && draw.chance(0.2))
    step.n[static_cast<size_t>(draw.below(static_cast<int64_t>(step.n.size())))] = -1;
  return true;
}
Plains reshaped(const Plain& x, Shape shape) {
  int64_t known = 1;
  for (int64_t s : shape)
    if (s >= 0) known *= s;
  for (int64_t& s : shape)
    if (s < 0) s = x.size() / known;
  const auto same = [&](const Index& i) { return flat(shape, i); };
  const Plain view = looked_at(x, shape, same);
  if (shape == x.shape || strided(view, shape)) return {view};
  return {made(
      shape, [&](const Index& i) { return x[flat(shape, i)]; }, x.kind)};
}
bool flattening(Draw& draw, Step& step) {
  const int x = any(draw);
  step.in = {x};
  int64_t a = draw.axis(draw[x].rank()), b = draw.axis(draw[x].rank());
  if (axis_of(a, draw[x].rank()) > axis_of(b, draw[x].rank())) std::swap(a, b);
  step.n = {a, b};
  return true;
}
bool order_of_axes(Draw& draw, Step& step) {
  const int x = any(draw), rank = draw[x].rank();
  step.in = {x};
  step.n.resize(static_cast<size_t>(rank));
  std::iota(step.n.begin(), step.n.end(), int64_t{0});
  for (int i = rank; i > 1; --i)
    std::swap(step.n[static_cast<size_t>(i - 1)], step.n[static_cast<size_t>(draw.below(i))]);
  for (int64_t& a : step.n)
    if (draw.chance(0.2)) a -= rank;
  return true;
}
Plain permuted(const Plain& x, const std::vector<int64_t>& axes) {
  Shape shape;
  for (int64_t a : axes) shape.push_back(x.shape[static_cast<size_t>(a)]);
  return looked_at(x, shape, [&](const Index& i) {
    Index from(i.size());
    for (size_t k = 0; k < i.size(); ++k) from[static_cast<size_t>(axes[k])] = i[k];
    return flat(x.shape, from);
  });
}
bool two_axes(Draw& draw, Step& step) {
  const int x = any(draw);
  step.in = {x};
  step.n = {draw.axis(draw[x].rank()), draw.axis(draw[x].rank())};
  return true;
}
bool ranked(Draw& draw, int& x) {
  x = any(draw, [](const Plain& p) { return p.rank() > 0; });
  return x >= 0 && draw[x].rank() > 0;
}
bool slicing(Draw& draw, Step& step) {
  int x;
  if (!ranked(draw, x)) return false;
  const int64_t axis = draw.axis(draw[x].rank()), n = length(draw[x], axis_of(axis, draw[x].rank()));
  step.in = {x};
  step.n = {axis, draw.below(2 * n + 3) - n - 1, draw.below(2 * n + 3) - n - 1, 1 + draw.below(3)};
  return true;
}
Plain sliced(const Plain& x, int64_t axis, int64_t begin, int64_t end, int64_t step) {
  const int64_t n = length(x, axis);
  const auto cut = [n](int64_t p) { return std::clamp<int64_t>(p < 0 ? p + n : p, 0, n); };
  begin = cut(begin), end = cut(end);
  Shape shape = x.shape;
  shape[static_cast<size_t>(axis)] = end > begin ? (end - begin + step - 1) / step : 0;
  return looked_at(x, shape, [&](const Index& i) {
    return flat(x.shape, with(i, axis, begin + step * i[static_cast<size_t>(axis)]));
  });
}
bool selecting(Draw& draw, Step& step) {
  int x;
  if (!ranked(draw, x)) return false;
  const int64_t axis = draw.axis(draw[x].rank()), n = length(draw[x], axis_of(axis, draw[x].rank()));
  if (n == 0) return false;
  step.in = {x};
  step.n = {axis, draw.below(2 * n) - n};
  return true;
}
bool new_axis(Draw& draw, Step& step) {
  const int x = any(draw, [](const Plain&p) { return p.rank() < 6; }), rank = draw[x].rank();
  if (rank >= 6) return false;
  step.in = {x};
  step.n = {draw.below(2 * rank + 2) - rank - 1};
  return true;
}
bool one_sized(Draw& draw, Step& step) {
  const int x = any(draw, [](const Plain& p) { return std::count(p.shape.begin(), p.shape.end(), 1) > 0; });
  const int64_t axis = draw.axis(draw[x].rank());
  if (length(draw[x], axis_of(axis, draw[x].rank())) != 1) return false;
  step.in = {x};
  step.n = {axis};
  return true;
}
bool expanding(Draw& draw, Step& step) {
  const int x = any(draw);
  Shape to = draw[x].shape;
  for (int64_t& s : to)
    if (s == 1) s = draw.chance(0.2) ? 0 : 1 + draw.below(4);
  if (to.size() < 5 && draw.chance(0.4)) to.insert(to.begin(), 1 + draw.below(3));
  if (!draw.cheap(count(to))) return false;
  step.in = {x};
  step.n = to;
  const size_t extra = to.size() - draw[x].shape.size();
  for (size_t i = extra; i < to.size(); ++i)
    if (draw.chance(0.1)) step.n[i] = draw[x].shape[i - extra] == to[i] ? -1 : to[i];
  return true;
}
bool pieces(Draw& draw, Step& step) {  // n: axis, sizes
  int x;
  if (!ranked(draw, x)) return false;
  const int64_t axis = draw.axis(draw[x].rank());
  int64_t left = length(draw[x], axis_of(axis, draw[x].rank()));
  step.in = {x};
  step.n = {axis};
  while (left > 0 && step.n.size() < 4) {
    step.n.push_back(draw.below(left + 1));
    left -= step.n.back();
  }
  step.n.push_back(left);
  return true;
}
bool even_pieces(Draw& draw, Step& step) {  // n: axis, size or number
  int x;
  if (!ranked(draw, x)) return false;
  const int64_t axis = draw.axis(draw[x].rank()), n = length(draw[x], axis_of(axis, draw[x].rank()));
  if (n == 0) return false;
  step.in = {x};
  step.n = {axis, draw.big ? (n + 2) / 3 : 1 + draw.below(n + 1)};
  return true;
}
Plains cut(const Plain& x, int64_t axis, int64_t size) {
  Plains all;
  for (int64_t at = 0; at < length(x, axis); at += size)
    all.push_back(sliced(x, axis, at, std::min(at + size, length(x, axis)), 1));
  return all;
}
Shape rest(const std::vector<int64_t>& n) { return Shape(n.begin() + 1, n.end()); }

}  // namespace

std::vector<Operation> shape_operations() {
  using T = Tensors;
  using L = const Library&;
  using S = const Step&;
  using X = const Tensors&;
  using P = const Plains&;
  const auto v = Operation::view;
  const Operation::Breaks axis{.axis = true};
  return {
      {"reshape",
       other_shape,
       [](L, S s, X x) { return T{reshape(x[0], dims(s.n))}; },
       [](S s, P x) { return reshaped(x[0], s.n); },
       v,
       {},
       8},
      {"flatten", flattening, [](L, S s, X x) { return T{flatten(x[0], s.n[0], s.n[1])}; },
       [](S s, P x) {
         const int64_t a = axis_of(s.n[0], x[0].rank()), b = axis_of(s.n[1], x[0].rank());
         Shape shape;
         for (int64_t i = 0; i < std::max(1, x[0].rank()); ++i)
           if (i <= a || i > b)
             shape.push_back(length(x[0], i));
           else
             shape.back() *= length(x[0], i);
         return reshaped(x[0], shape);
       },
       v, axis},
      {"permute",
       order_of_axes,
       [](L, S s, X x) { return T{permute(x[0], dims(s.n))}; },
       [](S s, P x) {
         std::vector<int64_t> axes = s.n;
         for (int64_t& a : axes) a = axis_of(a, x[0].rank());
         return Plains{permuted(x[0], axes)};
       },
       v,
       {},
       8},
      {"transpose", two_axes, [](L, S s, X x) { return T{transpose(x[0], s.n[0], s.n[1])}; },
       [](S s, P x) {
         std::vector<int64_t> axes(x[0].shape.size());
         std::iota(axes.begin(), axes.end(), int64_t{0});
         if (axes.empty()) return Plains{x[0]};
         std::swap(axes[static_cast<size_t>(axis_of(s.n[0], x[0].rank()))],
                   axes[static_cast<size_t>(axis_of(s.n[1], x[0].rank()))]);
         return Plains{permuted(x[0], axes)};
       },
       v, axis, 8},
      {"slice", slicing, [](L, S s, X x) { return T{slice(x[0], s.n[0], s.n[1], s.n[2], s.n[3])}; },
       [](S s, P x) { return Plains{sliced(x[0], axis_of(s.n[0], x[0].rank()), s.n[1], s.n[2], s.n[3])}; }, v, axis, 8},
      {"select", selecting, [](L, S s, X x) { return T{select(x[0], s.n[0], s.n[1])}; },
       [](S s, P x) {
         const int64_t a = axis_of(s.n[0], x[0].rank()), at = axis_of(s.n[1], static_cast<int>(length(x[0], a)));
         return Plains{looked_at(x[0], reduced(x[0].shape, a, false), [&](Index i) {
           i.insert(i.begin() + a, at);
           return flat(x[0].shape, i);
         })};
       },
       v, axis},
      {"unsqueeze", new_axis, [](L, S s, X x) { return T{unsqueeze(x[0], s.n[0])}; },
       [](S s, P x) {
         Shape shape = x[0].shape;
         shape.insert(shape.begin() + (s.n[0] < 0 ? s.n[0] + x[0].rank() + 1 : s.n[0]), 1);
         return Plains{looked_at(x[0], shape, [&](const Index& i) { return flat(shape, i); })};
       },
       v, axis},
      {"squeeze", one_sized, [](L, S s, X x) { return T{squeeze(x[0], s.n[0])}; },
       [](S s, P x) {
         const Shape shape = reduced(x[0].shape, axis_of(s.n[0], x[0].rank()), false);
         return Plains{looked_at(x[0], shape, [&](const Index& i) { return flat(shape, i); })};
       },
       v, axis},
      {"squeeze", anything, [](L, S, X x) { return T{squeeze(x[0])}; },
       [](S, P x) {
         Shape shape;
         for (int64_t s : x[0].shape)
           if (s != 1) shape.push_back(s);
         return Plains{looked_at(x[0], shape, [&](const Index& i) { return flat(shape, i); })};
       },
       v},
      {"expand",
       expanding,
       [](L, S s, X x) { return T{expand(x[0], dims(s.n))}; },
       [](S s, P x) {
         Shape shape = s.n;
         const size_t extra = shape.size() - x[0].shape.size();
         for (size_t i = extra; i < shape.size(); ++i)
           if (shape[i] == -1) shape[i] = x[0].shape[i - extra];
         return Plains{looked_at(x[0], shape, [&](const Index& i) {
           Index from(i.begin() + static_cast<int64_t>(extra), i.end());
           for (size_t k = 0; k < from.size(); ++k)
             if (x[0].shape[k] == 1) from[k] = 0;
           return flat(x[0].shape, from);
         })};
       },
       v,
       {},
       8},
      {"split", pieces, [](L, S s, X x) { return split(x[0], dims(rest(s.n)), s.n[0]); },
       [](S s, P x) {
         Plains all;
         int64_t at = 0;
         for (int64_t size : rest(s.n)) {
           all.push_back(sliced(x[0], axis_of(s.n[0], x[0].rank()), at, at + size, 1));
           at += size;
         }
         return all;
       },
       v, axis},
      {"split", even_pieces, [](L, S s, X x) { return split(x[0], s.n[1], s.n[0]); },
       [](S s, P x) { return cut(x[0], axis_of(s.n[0], x[0].rank()), s.n[1]); }, v, axis},
      {"chunk", even_pieces, [](L, S s, X x) { return chunk(x[0], s.n[1], s.n[0]); },
       [](S s, P x) {
         const int64_t a = axis_of(s.n[0], x[0].rank());
         return cut(x[0], a, (length(x[0], a) + s.n[1] - 1) / s.n[1]);
       },
       v, axis},
      {"contiguous", anything, [](L, S, X x) { return T{contiguous(x[0])}; },
       [](S, P x) {
         bool dense = true;
         for (int64_t i = 0; i < x[0].size(); ++i) dense = dense && x[0].at[static_cast<size_t>(i)] == x[0].at[0] + i;
         return dense ? itself(x[0])
                      : Plains{made(
                            x[0].shape, [&](const Index& i) { return x[0](i); }, x[0].kind)};
       },
       v},
      {"detach",
       anything,
       [](L, S, X x) { return T{x[0].detach()}; },
       [](S, P x) {
         Plain y = x[0];
         y.cut = true;
         return Plains{y};
       },
       v,
       {},
       2},
  };
}

}  // namespace differential
