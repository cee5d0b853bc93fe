// Table: elements by index, and triangles (ops/index.h).
#include "differential/family.h"

using namespace tutti;

namespace differential {
namespace {

using T = Tensors;
using L = const Library&;
using S = const Step&;
using X = const Tensors&;
using P = const Plains&;

/// Indices below `size` of this shape: int64 or int32, at times results of other operations.
int indices(Draw& draw, const Shape& shape, int64_t size) {
  return draw.leaf(draw.chance(0.5) ? Kind::integer : Kind::narrow, shape, 0, static_cast<double>(size));
}
bool in_range(const Plain& p, int64_t size) {
  for (int64_t i = 0; i < p.size(); ++i)
    if (p.integer(i) < 0 || p.integer(i) >= size) return false;
  return true;
}
int64_t drawn_axis(Draw& draw, int x) { return draw.axis(draw[x].rank()); }
bool rows(const Plain& p) { return p.rank() > 0; }
bool selecting(Draw& draw, Step& step) {  // n: axis
  const int x = draw.pick(arithmetic_kind(draw), rows);
  if (!rows(draw[x])) return false;
  step.n = {drawn_axis(draw, x)};
  const int64_t size = length(draw[x], axis_of(step.n[0], draw[x].rank()));
  const int64_t wanted = size ? draw.below(6) : 0;
  const auto fits = [&](const Plain& p) { return p.rank() == 1 && in_range(p, size); };
  int index = draw.chance(0.3) ? draw.pick(Kind::integer, fits, false) : -1;
  if (index < 0) index = indices(draw, {wanted}, size);
  if (!draw.cheap(draw[x].size() / std::max<int64_t>(size, 1) * draw[index].size())) return false;
  step.in = {x, index};
  return true;
}
Shape smaller(Draw& draw, const Plain& x, int64_t axis) {
  Shape shape = x.shape;
  for (int64_t& s : shape)
    if (s > 0 && draw.chance(0.3)) s = 1 + draw.below(s);
  if (axis < x.rank())
    shape[static_cast<size_t>(axis)] = length(x, axis) && !draw.big ? draw.below(5) : length(x, axis);
  return shape;
}
bool gathering(Draw& draw, Step& step) {  // n: axis
  const int x = draw.pick(arithmetic_kind(draw), rows);
  if (!rows(draw[x])) return false;
  step.n = {drawn_axis(draw, x)};
  const int64_t axis = axis_of(step.n[0], draw[x].rank());
  step.in = {x, indices(draw, smaller(draw, draw[x], axis), length(draw[x], axis))};
  return true;
}
bool scattering(Draw& draw, Step& step) {  // n: axis
  const int x = draw.real(rows);
  if (!rows(draw[x])) return false;
  step.n = {drawn_axis(draw, x)};
  const int64_t axis = axis_of(step.n[0], draw[x].rank());
  const Shape shape = smaller(draw, draw[x], axis);
  const int index = indices(draw, shape, length(draw[x], axis));
  step.in = {x, index, draw.shaped(Kind::real, shape)};
  return true;
}
bool classes(Draw& draw, Step& step) {  // n: classes
  step.n = {1 + draw.below(5)};
  const auto fits = [&](const Plain& p) { return p.rank() < 5 && in_range(p, step.n[0]); };
  int index = draw.chance(0.5) ? draw.pick(Kind::integer, fits, false) : -1;
  if (index < 0) index = indices(draw, draw.shape(3), step.n[0]);
  step.in = {index};
  return draw.cheap(draw[index].size() * step.n[0]);
}
bool triangle(Draw& draw, Step& step) {  // n: diagonal
  const int x = draw.pick(arithmetic_kind(draw), [](const Plain& p) { return p.rank() >= 2; });
  if (draw[x].rank() < 2) return false;
  step.in = {x};
  step.n = {draw.below(7) - 3};
  return true;
}
bool table(Draw& draw, Step& step) {
  const int weight = draw.real([](const Plain& p) { return p.rank() == 2; });
  if (draw[weight].rank() != 2) return false;
  const int64_t size = draw[weight].shape[0];
  Shape shape = draw.shape(3);
  if (size == 0) shape = {0};
  const int index = indices(draw, shape, size);
  if (!draw.cheap(draw[index].size() * draw[weight].shape[1])) return false;
  step.in = {index, weight};
  return true;
}

Plains selected(S s, P x) {
  const int64_t axis = axis_of(s.n[0], x[0].rank());
  Shape shape = x[0].shape;
  shape[static_cast<size_t>(axis)] = x[1].size();
  return {made(
      shape, [&](const Index& i) { return x[0](with(i, axis, x[1].integer(i[static_cast<size_t>(axis)]))); },
      x[0].kind)};
}
Plains gathered(S s, P x) {
  const int64_t axis = axis_of(s.n[0], x[0].rank());
  return {made(
      x[1].shape, [&](const Index& i) { return x[0](with(i, axis, x[1].integer(flat(x[1].shape, i)))); }, x[0].kind)};
}
Plains scattered(S s, P x) {
  const int64_t axis = axis_of(s.n[0], x[0].rank());
  Plain y = made(x[0].shape, [&](const Index& i) { return x[0](i); });
  each(x[1].shape, [&](const Index& i) {
    Number& to = y.memory->cells[static_cast<size_t>(flat(y.shape, with(i, axis, x[1].integer(flat(x[1].shape, i)))))];
    to = to + x[2](i);
  });
  return {y};
}
template <bool lower>
Plains triangular(S s, P x) {
  return {made(
      x[0].shape,
      [&](const Index& i) {
        const int64_t d = i[i.size() - 1] - i[i.size() - 2];
        return (lower ? d <= s.n[0] : d >= s.n[0]) ? x[0](i) : constant(0);
      },
      x[0].kind)};
}

}  // namespace

std::vector<Operation> index_operations() {
  return {
      {"index_select",
       selecting,
       [](L, S s, X x) { return T{index_select(x[0], s.n[0], x[1])}; },
       selected,
       {},
       {.axis = true}},
      {"gather",
       gathering,
       [](L, S s, X x) { return T{gather(x[0], s.n[0], x[1])}; },
       gathered,
       {},
       {.axis = true, .fit = true}},
      {"scatter_add",
       scattering,
       [](L, S s, X x) { return T{scatter_add(x[0], s.n[0], x[1], x[2])}; },
       scattered,
       {},
       {.axis = true, .fit = true}},
      {"one_hot", classes, [](L, S s, X x) { return T{one_hot(x[0], s.n[0])}; },
       [](S s, P x) {
         Shape shape = x[0].shape;
         shape.push_back(s.n[0]);
         return Plains{made(
             shape,
             [&](Index i) {
               const int64_t c = i.back();
               i.pop_back();
               return integer(value(x[0](i)) == static_cast<double>(c));
             },
             Kind::integer)};
       }},
      {"tril", triangle, [](L, S s, X x) { return T{tril(x[0], s.n[0])}; }, triangular<true>},
      {"triu", triangle, [](L, S s, X x) { return T{triu(x[0], s.n[0])}; }, triangular<false>},
      {"embedding", table, two<tutti::embedding>,
       [](S, P x) {
         Shape shape = x[0].shape;
         shape.push_back(x[1].shape[1]);
         return Plains{made(shape, [&](Index i) {
           const int64_t column = i.back();
           i.pop_back();
           return x[1]({x[0].integer(flat(x[0].shape, i)), column});
         })};
       }},
  };
}

}  // namespace differential
