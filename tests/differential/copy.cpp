// Table: copies, conversions, writing in place (ops/copy.h), new tensors (ops/create.h), joining (ops/join.h).
#include <cmath>
#include <set>

#include "differential/family.h"

using namespace tutti;

namespace differential {
namespace {

using T = Tensors;
using L = const Library&;
using S = const Step&;
using X = const Tensors&;
using P = const Plains&;

bool anything(Draw& draw, Step& step) {
  const Kind kinds[] = {Kind::real, Kind::real, Kind::real, Kind::integer, Kind::boolean};
  step.in = {draw.pick(kinds[draw.below(5)])};
  return true;
}
bool a_real(Draw& draw, Step& step) {
  step.in = {draw.real()};
  return true;
}
/// n[0]: the kind to convert to.
bool conversion(Draw& draw, Step& step) {
  anything(draw, step);
  const Kind kinds[] = {Kind::real, Kind::integer, Kind::boolean};
  step.n = {static_cast<int64_t>(kinds[draw.below(3)])};
  return true;
}
Number converted(Number x, Kind to) {
  if (to == Kind::boolean) return integer(order(x, constant(0)) != 0);
  if (to == Kind::real) return x;
  const double v = value(x);
  if (spread(x) > 0 && std::abs(v - std::round(v)) <= 64 * spread(x)) throw Unsure{};
  return constant(std::trunc(v));
}
/// What may be written: no gradient, nothing saved, no element twice.
bool writable(const Plain& x) {
  return !x.grad && !x.memory->frozen && std::set<int64_t>(x.at.begin(), x.at.end()).size() == x.at.size();
}
bool writing(Draw& draw, Step& step) {
  const int target = draw.pick(draw.chance(0.8) ? Kind::real : Kind::integer, writable, false);
  if (target < 0) return false;
  const int values = draw.partner(target, draw[target].kind, true);
  if (draw[values].grad) step.mode = Mode::no_grad;
  step.in = {target, values};
  return true;
}
bool filling(Draw& draw, Step& step) {
  const int target = draw.pick(draw.chance(0.8) ? Kind::real : Kind::integer, writable, false);
  if (target < 0) return false;
  step.in = {target};
  step.r = {std::round(draw.number(-3, 3))};
  return true;
}
Plains write(const Plain& target, const std::function<Number(const Index&)>& value_at) {
  std::vector<Number> all;
  each(target.shape, [&](const Index& i) { all.push_back(detached(value_at(i))); });
  for (size_t i = 0; i < all.size(); ++i) target.memory->cells[static_cast<size_t>(target.at[i])] = all[i];
  return {};
}

bool new_tensor(Draw& draw, Step& step) {
  step.n = draw.shape();
  step.r = {draw.number(-2, 2)};
  return true;
}
Plains filled(const Shape& shape, double v, Kind kind = Kind::real) {
  return {made(
      shape, [&](const Index&) { return constant(v); }, kind)};
}
TensorOptions of(L library) { return {.dtype = library.real}; }
bool counting(Draw& draw, Step& step) {
  const double begin = std::round(draw.number(-4, 4)), by = std::round(draw.number(1, 4)) / 4;
  step.r = {begin, begin + std::round(draw.number(0, 8)) * 0.5, by};
  return true;
}
bool spacing(Draw& draw, Step& step) {
  step.r = {draw.number(-4, 4), draw.number(-4, 4)};
  step.n = {2 + draw.below(6)};
  return true;
}
bool identity(Draw& draw, Step& step) {
  step.n = {draw.below(5)};
  return true;
}

/// n[0]: the axis. Parts that agree in the other axes.
bool joining(Draw& draw, Step& step) {
  const Kind kind = draw.chance(0.85) ? Kind::real : Kind::integer;
  const int first = draw.pick(kind, [](const Plain& p) { return p.rank() > 0; });
  if (draw[first].rank() == 0) return false;
  step.n = {draw.axis(draw[first].rank())};
  step.in = {first};
  for (int64_t more = draw.below(3); more > 0; --more) {
    Shape shape = draw[first].shape;
    if (!draw.big) shape[static_cast<size_t>(axis_of(step.n[0], draw[first].rank()))] = draw.below(4);
    step.in.push_back(draw.chance(0.2) ? first : draw.shaped(kind, shape));
  }
  return true;
}
bool stacking(Draw& draw, Step& step) {
  const int first = draw.real([](const Plain& p) { return p.rank() < 5; });
  const int rank = draw[first].rank();
  if (rank >= 5) return false;
  step.n = {draw.below(2 * rank + 2) - rank - 1};
  step.in = {first};
  for (int64_t more = draw.below(3); more > 0; --more)
    step.in.push_back(draw.chance(0.2) ? first : draw.shaped(Kind::real, draw[first].shape));
  return true;
}
Plain joined(const Plains& x, size_t axis) {
  Shape shape = x[0].shape;
  shape[axis] = 0;
  for (const Plain& p : x) shape[axis] += p.shape[axis];
  return made(
      shape,
      [&](Index i) {
        size_t part = 0;
        while (i[axis] >= x[part].shape[axis]) i[axis] -= x[part++].shape[axis];
        return x[part](i);
      },
      x[0].kind);
}
bool padding(Draw& draw, Step& step) {  // n: before, after
  const int x = draw.real();
  step.in = {x};
  for (int i = 0; i < 2 * draw[x].rank(); ++i) step.n.push_back(draw.below(3));
  step.r = {draw.number(-1, 1)};
  return true;
}

}  // namespace

std::vector<Operation> copy_operations() {
  const auto v = Operation::view, w = Operation::writes;
  return {
      {"clone", anything, one<tutti::clone>,
       [](S, P x) {
         return Plains{made(
             x[0].shape, [&](const Index& i) { return x[0](i); }, x[0].kind)};
       }},
      {"to", conversion, [](L l, S s, X x) { return T{to(x[0], l.dtype(static_cast<Kind>(s.n[0])))}; },
       [](S s, P x) {
         const auto kind = static_cast<Kind>(s.n[0]);
         if (kind == x[0].kind) return itself(x[0]);
         return Plains{made(
             x[0].shape, [&](const Index& i) { return converted(x[0](i), kind); }, kind)};
       },
       v},
      {"to", a_real,  // to float64 and back: exact; with a float64 program nothing at all
       [](L l, S, X x) { return T{clone(to(to(x[0], DType::float64), l.real))}; },
       [](S, P x) { return Plains{made(x[0].shape, [&](const Index& i) { return x[0](i); })}; }},
      {"to",
       anything,
       [](L, S, X x) { return T{to(x[0], x[0].device())}; },
       [](S, P x) { return itself(x[0]); },
       v,
       {},
       1},
      {"copy_",
       writing,
       [](L, S, X x) {
         copy_(x[0], x[1]);
         return T{};
       },
       [](S, P x) { return write(x[0], [&](const Index& i) { return pulled(x[1], i); }); },
       w,
       {.fit = true},
       8},
      {"fill_", filling,
       [](L, S s, X x) {
         fill_(x[0], s.r[0]);
         return T{};
       },
       [](S s, P x) { return write(x[0], [&](const Index&) { return constant(s.r[0]); }); }, w},
      {"zeros",
       new_tensor,
       [](L l, S s, X) { return T{zeros(dims(s.n), of(l))}; },
       [](S s, P) { return filled(s.n, 0); },
       {},
       {},
       1},
      {"ones",
       new_tensor,
       [](L l, S s, X) { return T{ones(dims(s.n), of(l))}; },
       [](S s, P) { return filled(s.n, 1); },
       {},
       {},
       1},
      {"full",
       new_tensor,
       [](L l, S s, X) { return T{full(dims(s.n), s.r[0], of(l))}; },
       [](S s, P) { return filled(s.n, s.r[0]); },
       {},
       {},
       1},
      {"zeros_like",
       a_real,
       one<tutti::zeros_like>,
       [](S, P x) { return filled(x[0].shape, 0); },
       Operation::no_gradient,
       {},
       1},
      {"ones_like",
       a_real,
       one<tutti::ones_like>,
       [](S, P x) { return filled(x[0].shape, 1); },
       Operation::no_gradient,
       {},
       1},
      {"full_like",
       [](Draw& draw, Step& step) { return a_real(draw, step) && (step.r = {draw.number(-2, 2)}, true); },
       [](L, S s, X x) { return T{full_like(x[0], s.r[0])}; },
       [](S s, P x) { return filled(x[0].shape, s.r[0]); },
       Operation::no_gradient,
       {},
       1},
      {"arange",
       counting,
       [](L l, S s, X) { return T{arange(s.r[0], s.r[1], s.r[2], of(l))}; },
       [](S s, P) {
         int64_t n = 0;
         while (s.r[0] + static_cast<double>(n) * s.r[2] < s.r[1]) ++n;
         return Plains{
             made({n}, [&](const Index& i) { return constant(s.r[0] + static_cast<double>(i[0]) * s.r[2]); })};
       },
       {},
       {},
       1},
      {"linspace",
       spacing,
       [](L l, S s, X) { return T{linspace(s.r[0], s.r[1], s.n[0], of(l))}; },
       [](S s, P) {
         return Plains{made({s.n[0]}, [&](const Index& i) {
           const Number t = integer(i[0]) / integer(s.n[0] - 1);
           return constant(s.r[0]) * (constant(1) - t) + constant(s.r[1]) * t;
         })};
       },
       {},
       {},
       1},
      {"eye",
       identity,
       [](L l, S s, X) { return T{eye(s.n[0], of(l))}; },
       [](S s, P) {
         return Plains{made({s.n[0], s.n[0]}, [](const Index& i) { return integer(i[0] == i[1]); })};
       },
       {},
       {},
       1},
      {"cat",
       joining,
       [](L, S s, X x) { return T{cat(x, s.n[0])}; },
       [](S s, P x) { return Plains{joined(x, static_cast<size_t>(axis_of(s.n[0], x[0].rank())))}; },
       {},
       {.axis = true}},
      {"stack",
       stacking,
       [](L, S s, X x) { return T{stack(x, s.n[0])}; },
       [](S s, P x) {
         const auto axis = static_cast<size_t>(s.n[0] < 0 ? s.n[0] + x[0].rank() + 1 : s.n[0]);
         Plains parts = x;
         for (Plain& p : parts) p.shape.insert(p.shape.begin() + static_cast<int64_t>(axis), 1);
         return Plains{joined(parts, axis)};
       },
       {},
       {.axis = true}},
      {"pad", padding,
       [](L, S s, X x) {
         const auto half = s.n.begin() + static_cast<int64_t>(s.n.size() / 2);
         return T{pad(x[0], dims({s.n.begin(), half}), dims({half, s.n.end()}), s.r[0])};
       },
       [](S s, P x) {
         Shape shape = x[0].shape;
         for (size_t i = 0; i < shape.size(); ++i) shape[i] += s.n[i] + s.n[shape.size() + i];
         return Plains{made(shape, [&](Index i) {
           for (size_t k = 0; k < i.size(); ++k) {
             i[k] -= s.n[k];
             if (i[k] < 0 || i[k] >= x[0].shape[k]) return constant(s.r[0]);
           }
           return x[0](i);
         })};
       }},
  };
}

}  // namespace differential
