// Table: largest and smallest elements (ops/extrema.h). The first of equals wins.
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

bool full(const Plain& p) { return p.size() > 0; }
bool any_axis(Draw& draw, Step& step) {  // n: axis, keepdim
  const int x = draw.pick(arithmetic_kind(draw), full);
  if (!full(draw[x])) return false;
  step.in = {x};
  step.n = {draw.axis(draw[x].rank()), draw.below(2)};
  return true;
}
bool everything(Draw& draw, Step& step) {
  const int x = draw.pick(arithmetic_kind(draw), full);
  step.in = {x};
  return full(draw[x]);
}
bool some(Draw& draw, Step& step) {  // n: axis, k, largest
  if (!any_axis(draw, step)) return false;
  const Plain& x = draw[step.in[0]];
  const int64_t n = length(x, axis_of(step.n[0], x.rank()));
  step.n = {step.n[0], x.rank() ? draw.below(std::min<int64_t>(n, 64) + 1) : 1, draw.below(2)};
  return true;
}

/// Positions, the most extreme first, equal ones in order; only the first k are sure (and needed).
std::vector<int64_t> ranked(const std::vector<Number>& x, bool largest, size_t k) {
  std::vector<int64_t> at(x.size());
  std::iota(at.begin(), at.end(), int64_t{0});
  std::stable_sort(at.begin(), at.end(), [&](int64_t a, int64_t b) {
    const double u = value(x[static_cast<size_t>(a)]), v = value(x[static_cast<size_t>(b)]);
    return largest ? u > v : u < v;
  });
  for (size_t i = 0; i < k; ++i)
    for (size_t j = i + 1; j < x.size(); ++j) order(x[static_cast<size_t>(at[i])], x[static_cast<size_t>(at[j])]);
  at.resize(k);
  return at;
}
template <bool largest>
Plains extremum(S s, P x) {
  const int64_t axis = axis_of(s.n[0], x[0].rank());
  const Shape shape = reduced(x[0].shape, axis, s.n[1]);
  std::vector<int64_t> positions;
  const Plain values = made(
      shape,
      [&](const Index& i) {
        const auto line = row(x[0], axis, i, s.n[1]);
        positions.push_back(ranked(line, largest, 1)[0]);
        return line[static_cast<size_t>(positions.back())];
      },
      x[0].kind);
  return {values, made(
                      shape, [&](const Index& i) { return integer(positions[static_cast<size_t>(flat(shape, i))]); },
                      Kind::integer)};
}
template <bool largest>
Plains position(S s, P x) {
  return {extremum<largest>(s, x)[1]};
}
Plain line_of(const Plain& x) {
  Plain y = x;
  y.shape = {x.size()};
  return y;
}
template <bool largest>
Plains extremum_of_all(S s, P x) {
  Step along = s;
  along.n = {0, 0};
  return {extremum<largest>(along, {line_of(x[0])})[0]};
}
template <bool largest>
Plains position_of_all(S s, P x) {
  Step along = s;
  along.n = {0, 0};
  return {extremum<largest>(along, {line_of(x[0])})[1]};
}
T both(const ValuesIndices& y) { return {y.values, y.indices}; }

}  // namespace

std::vector<Operation> extrema_operations() {
  const Operation::Breaks axis{.axis = true};
  return {
      {"max", any_axis, [](L, S s, X x) { return both(max(x[0], s.n[0], s.n[1])); }, extremum<true>, {}, axis},
      {"min", any_axis, [](L, S s, X x) { return both(min(x[0], s.n[0], s.n[1])); }, extremum<false>, {}, axis},
      {"max", everything, [](L, S, X x) { return T{max(x[0])}; }, extremum_of_all<true>, {}, {}, 1},
      {"min", everything, [](L, S, X x) { return T{min(x[0])}; }, extremum_of_all<false>, {}, {}, 1},
      {"argmax", any_axis, [](L, S s, X x) { return T{argmax(x[0], s.n[0], s.n[1])}; }, position<true>, {}, axis, 2},
      {"argmin", any_axis, [](L, S s, X x) { return T{argmin(x[0], s.n[0], s.n[1])}; }, position<false>, {}, axis, 2},
      {"argmax", everything, [](L, S, X x) { return T{argmax(x[0])}; }, position_of_all<true>, {}, {}, 1},
      {"argmin", everything, [](L, S, X x) { return T{argmin(x[0])}; }, position_of_all<false>, {}, {}, 1},
      {"topk",
       some,
       [](L, S s, X x) { return both(topk(x[0], s.n[1], s.n[0], s.n[2])); },
       [](S s, P x) {
         const int64_t along = axis_of(s.n[0], x[0].rank());
         Shape shape = x[0].shape;
         if (!shape.empty()) shape[static_cast<size_t>(along)] = s.n[1];
         std::map<int64_t, std::vector<int64_t>> lines;  // by the flat index of a line's start
         const auto place = [&](const Index& i) {
           auto& line = lines[flat(x[0].shape, with(i, along, 0))];
           if (line.empty())
             line = ranked(row(x[0], along, with(i, along, 0), true), s.n[2], static_cast<size_t>(s.n[1]));
           return line[i.empty() ? 0 : static_cast<size_t>(i[static_cast<size_t>(along)])];
         };
         return Plains{made(
                           shape, [&](const Index& i) { return x[0](with(i, along, place(i))); }, x[0].kind),
                       made(
                           shape, [&](const Index& i) { return integer(place(i)); }, Kind::integer)};
       },
       {},
       axis},
  };
}

}  // namespace differential
