// Table: comparisons, logic, selection (ops/compare.h).
#include <cmath>

#include "differential/family.h"

using namespace tutti;

namespace differential {
namespace {

bool pair(Draw& draw, Step& step) {
  const Kind kind = arithmetic_kind(draw);
  const int a = draw.pick(kind);
  step.in = {a, draw.chance(0.1) ? a : draw.partner(a, kind)};
  return true;
}
bool with_number(Draw& draw, Step& step) {
  const int a = draw.pick(arithmetic_kind(draw));
  step.in = {a};
  step.r = {draw[a].kind == Kind::integer ? std::round(draw.number(-3, 3)) : draw.number(-2, 2)};
  return true;
}
bool truths(Draw& draw, Step& step) {
  const int a = draw.pick(Kind::boolean);
  step.in = {a, draw.partner(a, Kind::boolean)};
  return true;
}
bool truth(Draw& draw, Step& step) {
  const int a = draw.pick(Kind::boolean);
  step.in = {a};
  return true;
}
bool anything(Draw& draw, Step& step) {
  const int a = draw.pick(arithmetic_kind(draw));
  step.in = {a};
  return true;
}
bool selection(Draw& draw, Step& step) {
  const Kind kind = arithmetic_kind(draw);
  const int a = draw.pick(kind), b = draw.partner(a, kind);
  Shape both;
  if (!broadcast(draw[a].shape, draw[b].shape, both)) return false;
  step.in = {draw.partner(a, Kind::boolean, true), a, b};
  return true;
}
bool filling(Draw& draw, Step& step) {
  const int a = draw.pick(arithmetic_kind(draw));
  step.in = {a, draw.partner(a, Kind::boolean, true)};
  step.r = {std::round(draw.number(-3, 3))};
  return true;
}

// order() + 1 as a digit of what is true: less 1, equal 2, greater 4.
template <int truth>
bool holds(Number a, Number b) {
  return (truth >> (order(a, b) + 1)) & 1;
}
template <int truth>
Plains comparison(const Step&, const Plains& x) {
  return {broadcasted(x[0], x[1], Kind::boolean, [](Number a, Number b) { return integer(holds<truth>(a, b)); })};
}
template <int truth>
Plains comparison_with_number(const Step& s, const Plains& x) {
  return {made(
      x[0].shape, [&](const Index& i) { return integer(holds<truth>(x[0](i), constant(s.r[0]))); }, Kind::boolean)};
}
template <Tensor (*f)(const Tensor&, tutti::Number)>
Tensors right(const Library&, const Step& s, const Tensors& x) {
  return {f(x[0], s.r[0])};
}

}  // namespace

std::vector<Operation> compare_operations() {
  const Operation::Breaks fit{.fit = true};
  return {
      {"eq", pair, two<tutti::eq>, comparison<2>, {}, fit, 2},
      {"ne", pair, two<tutti::ne>, comparison<5>, {}, fit, 2},
      {"lt", pair, two<tutti::lt>, comparison<1>, {}, fit, 2},
      {"le", pair, two<tutti::le>, comparison<3>, {}, fit, 2},
      {"gt", pair, two<tutti::gt>, comparison<4>, {}, fit, 2},
      {"ge", pair, two<tutti::ge>, comparison<6>, {}, fit, 2},
      {"eq", with_number, right<tutti::eq>, comparison_with_number<2>, {}, {}, 2},
      {"ne", with_number, right<tutti::ne>, comparison_with_number<5>, {}, {}, 2},
      {"lt", with_number, right<tutti::lt>, comparison_with_number<1>, {}, {}, 2},
      {"le", with_number, right<tutti::le>, comparison_with_number<3>, {}, {}, 2},
      {"gt", with_number, right<tutti::gt>, comparison_with_number<4>, {}, {}, 2},
      {"ge", with_number, right<tutti::ge>, comparison_with_number<6>, {}, {}, 2},
      {"logical_and",
       truths,
       two<tutti::logical_and>,
       [](const Step&, const Plains& x) {
         return Plains{broadcasted(x[0], x[1], Kind::boolean,
                                   [](Number a, Number b) { return integer(value(a) != 0 && value(b) != 0); })};
       },
       {},
       fit,
       2},
      {"logical_or",
       truths,
       two<tutti::logical_or>,
       [](const Step&, const Plains& x) {
         return Plains{broadcasted(x[0], x[1], Kind::boolean,
                                   [](Number a, Number b) { return integer(value(a) != 0 || value(b) != 0); })};
       },
       {},
       fit,
       2},
      {"logical_not",
       truth,
       one<tutti::logical_not>,
       [](const Step&, const Plains& x) {
         return Plains{made(
             x[0].shape, [&](const Index& i) { return integer(value(x[0](i)) == 0); }, Kind::boolean)};
       },
       {},
       {},
       2},
      {"isnan",
       anything,
       one<tutti::isnan>,
       [](const Step&, const Plains& x) {
         return Plains{made(
             x[0].shape, [](const Index&) { return integer(0); }, Kind::boolean)};
       },
       {},
       {},
       1},
      {"where", selection,
       [](const Library&, const Step&, const Tensors& x) { return Tensors{where(x[0], x[1], x[2])}; },
       [](const Step&, const Plains& x) {
         Shape shape, all;
         broadcast(x[1].shape, x[2].shape, shape);
         broadcast(shape, x[0].shape, all);
         return Plains{made(
             all, [&](const Index& i) { return value(pulled(x[0], i)) != 0 ? pulled(x[1], i) : pulled(x[2], i); },
             x[1].kind)};
       }},
      {"masked_fill",
       filling,
       [](const Library&, const Step& s, const Tensors& x) { return Tensors{masked_fill(x[0], x[1], s.r[0])}; },
       [](const Step& s, const Plains& x) {
         return Plains{made(
             x[0].shape, [&](const Index& i) { return value(pulled(x[1], i)) != 0 ? constant(s.r[0]) : x[0](i); },
             x[0].kind)};
       },
       {},
       {.fit = true}},
  };
}

}  // namespace differential
