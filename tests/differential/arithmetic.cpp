// Table: arithmetic with broadcasting (ops/arithmetic.h).
#include <cmath>

#include "differential/family.h"

using namespace tutti;

namespace differential {
namespace {

/// Two values of one kind that broadcast, either first. Now and then the same value twice.
bool pair(Draw& draw, Step& step) {
  const Kind kind = arithmetic_kind(draw);
  const int a = draw.pick(kind), b = draw.chance(0.1) ? a : draw.partner(a, kind);
  step.in = {a, b};
  if (draw.chance(0.5)) std::swap(step.in[0], step.in[1]);
  return true;
}
bool real_pair(Draw& draw, Step& step) {
  const int a = draw.real();
  step.in = {a, draw.chance(0.1) ? a : draw.partner(a, Kind::real)};
  return true;
}
bool quotient(Draw& draw, Step& step) {
  const int a = draw.real();
  step.in = {a, draw.partner(a, Kind::real, false, 0.25, 4)};
  return true;
}
bool powers(Draw& draw, Step& step) {
  const int a = draw.within(0.2, 5);
  step.in = {a, draw.partner(a, Kind::real, false, -3, 3)};
  return true;
}
/// A value and a number; n[0]: the number comes first.
bool with_number(Draw& draw, Step& step) {
  const int a = draw.pick(arithmetic_kind(draw));
  step.in = {a};
  step.r = {draw[a].kind == Kind::integer ? std::round(draw.number(-3, 3)) : draw.number(-3, 3)};
  return true;
}
bool divided_number(Draw& draw, Step& step) {
  step.in = {draw.within(0.25, 100)};
  step.r = {draw.number(-3, 3)};
  return true;
}
bool by_number(Draw& draw, Step& step) {
  step.in = {draw.real()};
  step.r = {draw.number(0.5, 3)};
  return true;
}
bool power(Draw& draw, Step& step) {
  const double exponents[] = {0, 1, 2, 3, -1, 0.5, -0.5, 1.5, 2.25};
  step.r = {exponents[draw.below(9)]};
  step.in = {draw.within(0.2, 5)};
  return true;
}

using Exact = double (*)(double, double);
/// Integers without rounding, real numbers with.
template <Number (*f)(Number, Number), char symbol>
Number arithmetic(Number a, Number b, Kind kind) {
  if (kind == Kind::real) return f(a, b);
  const double x = value(a), y = value(b);
  return constant(symbol == '+' ? x + y : symbol == '-' ? x - y : x * y);
}
template <Number (*f)(Number, Number), char symbol>
Plains binary(const Step&, const Plains& x) {
  return {
      broadcasted(x[0], x[1], x[0].kind, [&](Number a, Number b) { return arithmetic<f, symbol>(a, b, x[0].kind); })};
}
template <Number (*f)(Number, Number), char symbol, bool first = false>
Plains scalar(const Step& s, const Plains& x) {
  return {made(
      x[0].shape,
      [&](const Index& i) {
        const Number r = constant(s.r[0]);
        return first ? arithmetic<f, symbol>(r, x[0](i), x[0].kind) : arithmetic<f, symbol>(x[0](i), r, x[0].kind);
      },
      x[0].kind)};
}
template <int sign>
Plains extreme(const Step&, const Plains& x) {
  return {broadcasted(x[0], x[1], x[0].kind, [](Number a, Number b) {
    const int c = order(a, b) * sign;
    return c > 0 ? a : c < 0 ? b : halves(a, b);
  })};
}
Number power_of(Number x, double exponent) {
  // Not by log(x): a number as exponent has no gradient.
  return exponent == 0 ? constant(1) : differential::power(x, constant(exponent));
}

template <Tensor (*f)(const Tensor&, tutti::Number)>
Tensors right(const Library&, const Step& s, const Tensors& x) {
  return {f(x[0], s.r[0])};
}
template <Tensor (*f)(tutti::Number, const Tensor&)>
Tensors left(const Library&, const Step& s, const Tensors& x) {
  return {f(s.r[0], x[0])};
}
constexpr auto plus = differential::operator+;
constexpr auto minus = static_cast<Number (*)(Number, Number)>(differential::operator-);
constexpr auto times = differential::operator*;
constexpr auto over = differential::operator/;

}  // namespace

std::vector<Operation> arithmetic_operations() {
  const Operation::Breaks fit{.fit = true}, floating{.floating = true}, both{.floating = true, .fit = true};
  return {
      {"add", pair, two<tutti::add>, binary<plus, '+'>, {}, fit},
      {"sub", pair, two<tutti::sub>, binary<minus, '-'>, {}, fit},
      {"mul", pair, two<tutti::mul>, binary<times, '*'>, {}, fit, 8},
      {"div", quotient, two<tutti::div>, binary<over, '/'>, {}, both},
      {"add", with_number, right<tutti::add>, scalar<plus, '+'>},
      {"sub", with_number, right<tutti::sub>, scalar<minus, '-'>},
      {"sub", with_number, left<tutti::sub>, scalar<minus, '-', true>},
      {"mul", with_number, right<tutti::mul>, scalar<times, '*'>},
      {"div", by_number, right<tutti::div>, scalar<over, '/'>, {}, floating},
      {"div", divided_number, left<tutti::div>, scalar<over, '/', true>, {}, floating},
      {"maximum", pair, two<tutti::maximum>, extreme<1>, {}, fit},
      {"minimum", real_pair, two<tutti::minimum>, extreme<-1>, {}, fit},
      {"pow",
       powers,
       two<tutti::pow>,
       [](const Step&, const Plains& x) { return Plains{broadcasted(x[0], x[1], Kind::real, differential::power)}; },
       {},
       both},
      {"pow",
       power,
       [](const Library&, const Step& s, const Tensors& x) { return Tensors{pow(x[0], s.r[0])}; },
       [](const Step& s, const Plains& x) {
         return Plains{made(x[0].shape, [&](const Index& i) { return power_of(x[0](i), s.r[0]); })};
       },
       {},
       floating},
  };
}

}  // namespace differential
