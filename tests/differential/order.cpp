// Table: parts by x[{..}] (core/tensor_index.h), the opposite order (ops/flip.h), sorting (ops/extrema.h), running sums
// and products (ops/cumulative.h).
#include <algorithm>
#include <numeric>

#include "differential/family.h"

using namespace tutti;

namespace differential {
namespace {

using T = Tensors;
using L = const Library&;
using S = const Step&;
using X = const Tensors&;
using P = const Plains&;
using Row = std::vector<Number>;

// n: four numbers for each index, of which the first says what it is.
enum Part : int64_t { position, slice, ellipsis };
bool indexing(Draw& draw, Step& step) {
  const int x = draw.pick(arithmetic_kind(draw), [](const Plain& p) { return p.rank() > 0; });
  const int rank = draw[x].rank();
  step.in = {x};
  int axis = 0;
  for (bool skipped = false; axis < rank && !draw.chance(0.2);) {
    if (!skipped && draw.chance(0.15)) {
      skipped = true;
      step.n.insert(step.n.end(), {ellipsis, 0, 0, 0});
      axis += static_cast<int>(draw.below(rank - axis + 1));
      if (axis < rank) {  // exactly the rest is named, so that the ellipsis stands for what was skipped
        for (; axis < rank; ++axis) step.n.insert(step.n.end(), {slice, draw.below(3), 1000, 1 + draw.below(2)});
      }
      break;
    }
    const int64_t n = length(draw[x], axis++);
    if (n > 0 && draw.chance(0.4))
      step.n.insert(step.n.end(), {position, draw.below(2 * n) - n, 0, 0});
    else
      step.n.insert(step.n.end(),
                    {slice, draw.below(2 * n + 3) - n - 1, draw.below(2 * n + 3) - n - 1, 1 + draw.below(3)});
  }
  return true;
}
TensorIndex index_of(S s, size_t i) {
  const int64_t* n = s.n.data() + 4 * i;
  if (n[0] == position) return n[1];
  if (n[0] == ellipsis) return tutti::ellipsis;
  return Slice{n[1], n[2], n[3]};
}
T indexed(L, S s, X x) {
  switch (s.n.size() / 4) {
    case 0:
      return {x[0][{}]};
    case 1:
      return {x[0][index_of(s, 0)]};
    case 2:
      return {x[0][{index_of(s, 0), index_of(s, 1)}]};
    case 3:
      return {x[0][{index_of(s, 0), index_of(s, 1), index_of(s, 2)}]};
    case 4:
      return {x[0][{index_of(s, 0), index_of(s, 1), index_of(s, 2), index_of(s, 3)}]};
    default:
      throw Unsure{};
  }
}
Plains parts(S s, P x) {
  if (s.n.size() > 16) throw Unsure{};
  struct Axis {
    int64_t begin, step, count;  // count -1: the axis disappears
  };
  std::vector<Axis> axes;
  const int named = static_cast<int>(s.n.size() / 4);
  for (size_t i = 0; i < s.n.size(); i += 4) {
    const int64_t size = length(x[0], static_cast<int64_t>(axes.size()));
    const auto cut = [size](int64_t p) { return std::clamp<int64_t>(p < 0 ? p + size : p, 0, size); };
    if (s.n[i] == ellipsis) {
      for (int more = x[0].rank() - (named - 1); more > 0; --more)
        axes.push_back({0, 1, length(x[0], static_cast<int64_t>(axes.size()))});
    } else if (s.n[i] == position) {
      axes.push_back({axis_of(s.n[i + 1], static_cast<int>(size)), 1, -1});
    } else {
      int64_t count = 0;
      for (int64_t p = cut(s.n[i + 1]); p < cut(s.n[i + 2]); p += s.n[i + 3]) ++count;
      axes.push_back({cut(s.n[i + 1]), s.n[i + 3], count});
    }
  }
  while (static_cast<int>(axes.size()) < x[0].rank())
    axes.push_back({0, 1, length(x[0], static_cast<int64_t>(axes.size()))});
  Shape shape;
  for (const Axis& a : axes)
    if (a.count >= 0) shape.push_back(a.count);
  return {looked_at(x[0], shape, [&](const Index& i) {
    Index from;
    size_t k = 0;
    for (const Axis& a : axes) from.push_back(a.begin + (a.count < 0 ? 0 : a.step * i[k++]));
    return flat(x[0].shape, from);
  })};
}

bool flipping(Draw& draw, Step& step) {  // n: axes
  const int x = draw.pick(arithmetic_kind(draw));
  step.in = {x};
  for (int i = 0; i < draw[x].rank(); ++i)
    if (draw.chance(0.5)) step.n.push_back(draw.chance(0.3) ? i - draw[x].rank() : i);
  return true;
}
bool along(Draw& draw, Step& step) {  // n: axis, and a flag
  const int x = draw.pick(arithmetic_kind(draw));
  step.in = {x};
  step.n = {draw.axis(draw[x].rank()), draw.below(2)};
  return true;
}
bool short_lines(Draw& draw, Step& step) {
  return along(draw, step) && length(draw[step.in[0]], axis_of(step.n[0], draw[step.in[0]].rank())) <= 12;
}
bool few(Draw& draw, Step& step) {
  step.in = {draw.pick(arithmetic_kind(draw), [](const Plain& p) { return p.size() <= 12; })};
  return draw[step.in[0]].size() <= 12;
}
Number multiplied(const Row& x) {
  Number y = constant(1);
  for (Number v : x) y = y * v;
  return y;
}
/// Stable, and sure of every neighbour.
std::vector<int64_t> ranked(const Row& x, bool descending) {
  std::vector<int64_t> at(x.size());
  std::iota(at.begin(), at.end(), int64_t{0});
  const auto number = [&](int64_t i) { return x[static_cast<size_t>(i)]; };
  std::stable_sort(at.begin(), at.end(), [&](int64_t a, int64_t b) {
    return descending ? value(number(a)) > value(number(b)) : value(number(a)) < value(number(b));
  });
  for (size_t i = 1; i < at.size(); ++i) order(number(at[i - 1]), number(at[i]));
  return at;
}
Plains sorted(S s, P x) {
  const int64_t axis = axis_of(s.n[0], x[0].rank());
  std::map<int64_t, std::vector<int64_t>> lines;  // by the flat index of a line's start
  const auto place = [&](const Index& i) {
    auto& line = lines[flat(x[0].shape, with(i, axis, 0))];
    if (line.empty()) line = ranked(row(x[0], axis, with(i, axis, 0), true), s.n[1] != 0);
    return line[i.empty() ? 0 : static_cast<size_t>(i[static_cast<size_t>(axis)])];
  };
  const Plain values = made(
      x[0].shape, [&](const Index& i) { return x[0](with(i, axis, place(i))); }, x[0].kind);
  return {values, made(
                      x[0].shape, [&](const Index& i) { return integer(place(i)); }, Kind::integer)};
}

}  // namespace

std::vector<Operation> order_operations() {
  const Operation::Breaks axis{.axis = true};
  return {
      {"operator[]", indexing, indexed, parts, Operation::view, {}, 8},
      {"flip", flipping, [](L, S s, X x) { return T{flip(x[0], dims(s.n))}; },
       [](S s, P x) {
         std::vector<bool> turned(static_cast<size_t>(x[0].rank()));
         for (int64_t a : s.n) turned[static_cast<size_t>(axis_of(a, x[0].rank()))] = true;
         return Plains{made(
             x[0].shape,
             [&](Index i) {
               for (size_t k = 0; k < i.size(); ++k)
                 if (turned[k]) i[k] = x[0].shape[k] - 1 - i[k];
               return x[0](i);
             },
             x[0].kind)};
       }},
      {"cumsum",
       along,
       [](L, S s, X x) { return T{cumsum(x[0], s.n[0])}; },
       [](S s, P x) {
         const int64_t a = axis_of(s.n[0], x[0].rank());
         return Plains{made(
             x[0].shape,
             [&](const Index& i) {
               Row line = row(x[0], a, with(i, a, 0), true);
               if (!i.empty()) line.resize(static_cast<size_t>(i[static_cast<size_t>(a)] + 1));
               return total(line);
             },
             x[0].kind)};
       },
       {},
       axis},
      {"prod",
       short_lines,
       [](L, S s, X x) { return T{prod(x[0], s.n[0], s.n[1])}; },
       [](S s, P x) {
         const int64_t a = axis_of(s.n[0], x[0].rank());
         return Plains{made(
             reduced(x[0].shape, a, s.n[1]), [&](const Index& i) { return multiplied(row(x[0], a, i, s.n[1])); },
             x[0].kind)};
       },
       {},
       axis},
      {"prod",
       few,
       [](L, S, X x) { return T{prod(x[0])}; },
       [](S, P x) {
         return Plains{made(
             {},
             [&](const Index&) {
               Row all;
               for (int64_t i = 0; i < x[0].size(); ++i) all.push_back(x[0][i]);
               return multiplied(all);
             },
             x[0].kind)};
       },
       {},
       {},
       2},
      {"sort",
       along,
       [](L, S s, X x) {
         const ValuesIndices y = sort(x[0], s.n[0], s.n[1]);
         return T{y.values, y.indices};
       },
       sorted,
       {},
       axis},
      {"argsort",
       along,
       [](L, S s, X x) { return T{argsort(x[0], s.n[0], s.n[1])}; },
       [](S s, P x) { return Plains{sorted(s, x)[1]}; },
       {},
       axis,
       2},
  };
}

}  // namespace differential
