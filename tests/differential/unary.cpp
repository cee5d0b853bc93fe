// Table: functions of one tensor (ops/unary.h, ops/activation.h).
#include <cmath>

#include "differential/family.h"

using namespace tutti;

namespace differential {
namespace {

Number negative(Number x) { return -x; }
Number rsqrt_of(Number x) { return constant(1) / sqrt(x); }
Number reciprocal_of(Number x) { return constant(1) / x; }
Number square_of(Number x) { return x * x; }
Number relu_of(Number x) { return order(x, constant(0)) > 0 ? x : constant(0); }
Number erf_gelu(Number x) { return constant(0.5) * x * erfc(constant(-std::sqrt(0.5)) * x); }
Number tanh_gelu(Number x) {
  const double c = 2 * std::sqrt(2 / M_PI);
  return x * sigmoid(constant(c) * (x + constant(0.044715) * x * x * x));
}
Number silu_of(Number x) { return x * sigmoid(x); }

/// Real or integer.
bool number(Draw& draw, Step& step) {
  const int x = draw.pick(arithmetic_kind(draw));
  step.in = {x};
  return true;
}
template <Number (*f)(Number)>
Plains same_kind(const Step&, const Plains& x) {
  return {made(
      x[0].shape, [&](const Index& i) { return f(x[0](i)); }, x[0].kind)};
}
bool limits(Draw& draw, Step& step) {
  const int x = draw.pick(arithmetic_kind(draw));
  step.in = {x};
  double low = draw.number(-1.5, 0.5), high = low + draw.number(0, 2);
  if (draw[x].kind == Kind::integer) low = std::floor(low), high = std::ceil(high);
  step.r = {low, high};
  return true;
}
Number clamped(Number x, double low, double high) {
  if (order(x, constant(low)) < 0) return constant(low);
  return order(x, constant(high)) > 0 ? constant(high) : x;
}

}  // namespace

std::vector<Operation> unary_operations() {
  const Operation::Breaks floating{.floating = true};
  return {
      {"neg", number, one<tutti::neg>, same_kind<negative>},
      {"abs", number, one<tutti::abs>, same_kind<magnitude>},
      {"exp", within<-900, 500>, one<tutti::exp>, elementwise<exp>, {}, floating},
      {"log", within<5, 1000>, one<tutti::log>, elementwise<log>, {}, floating},
      {"log1p", within<-90, 1000>, one<tutti::log1p>, elementwise<log1p>, {}, floating},
      {"sqrt", within<2, 10000>, one<tutti::sqrt>, elementwise<sqrt>, {}, floating},
      {"rsqrt", within<5, 10000>, one<tutti::rsqrt>, elementwise<rsqrt_of>, {}, floating},
      {"reciprocal", within<10, 1000>, one<tutti::reciprocal>, elementwise<reciprocal_of>, {}, floating},
      {"square", within<-1000, 1000>, one<tutti::square>, elementwise<square_of>, {}, floating},
      {"sin", within<-2000, 2000>, one<tutti::sin>, elementwise<sin>, {}, floating},
      {"cos", within<-2000, 2000>, one<tutti::cos>, elementwise<cos>, {}, floating},
      {"tanh", within<-800, 800>, one<tutti::tanh>, elementwise<tanh>, {}, floating},
      {"clamp", limits,
       [](const Library&, const Step& s, const Tensors& x) { return Tensors{clamp(x[0], s.r[0], s.r[1])}; },
       [](const Step& s, const Plains& x) {
         return Plains{made(
             x[0].shape, [&](const Index& i) { return clamped(x[0](i), s.r[0], s.r[1]); }, x[0].kind)};
       }},
      {"sigmoid", within<-2000, 1500>, one<tutti::sigmoid>, elementwise<sigmoid>, {}, floating},
      {"relu", within<-9999, 9999>, one<tutti::relu>, elementwise<relu_of>, {}, floating},
      {"gelu",
       within<-600, 900>,
       [](const Library&, const Step&, const Tensors& x) { return Tensors{gelu(x[0])}; },
       elementwise<erf_gelu>,
       {},
       floating},
      {"gelu",
       within<-500, 900>,
       [](const Library&, const Step&, const Tensors& x) { return Tensors{gelu(x[0], Gelu::tanh)}; },
       elementwise<tanh_gelu>,
       {},
       floating},
      {"silu", within<-2000, 1500>, one<tutti::silu>, elementwise<silu_of>, {}, floating},
  };
}

}  // namespace differential
