#include "differential/number.h"

#include <algorithm>
#include <cmath>

namespace differential {
namespace {

thread_local Tape* tape = nullptr;

template <class F>
Lanes each(const F& f) {
  Lanes y;
  for (size_t i = 0; i < y.size(); ++i) y[i] = f(i);
  return y;
}
constexpr Lanes one{1, 1, 1, 1, 1, 1, 1, 1}, zero{};

/// f and its derivative, which may use the (rounded) result y, as a gradient that saved it does.
template <class F, class D>
Number function(Number x, const F& f, const D& derivative) {
  const Lanes v = Tape::current().value(x);
  const Number y = Tape::current().result(each([&](size_t i) { return f(v[i]); }), x, zero, {}, zero);
  const Lanes w = Tape::current().value(y);
  const Lanes d = each([&](size_t i) { return derivative(v[i], w[i]); });
  Tape::current().shorten(static_cast<size_t>(y.id));
  return Tape::current().result(w, x, d, {}, zero);
}

}  // namespace

Tape::Tape(uint64_t seed) : state_(seed * 2 + 1), before_(tape) { tape = this; }
Tape::~Tape() { tape = before_; }
Tape& Tape::current() { return *tape; }

double Tape::noise() {
  state_ = state_ * 6364136223846793005u + 1442695040888963407u;
  return (static_cast<double>(state_ >> 32) * 0x1p-31 - 1) * 0x1p-23;
}
void Tape::round(Lanes& x) {
  for (size_t i = 1; i < x.size(); ++i) x[i] *= 1 + noise();
}
Number Tape::constant(double v) {
  Lanes all;
  all.fill(v);
  return constant(all);
}
Number Tape::constant(const Lanes& v) {
  nodes_.push_back({v, zero, zero, {}, {}});
  return {static_cast<int32_t>(nodes_.size() - 1)};
}
Number Tape::result(const Lanes& v, Number a, const Lanes& da, Number b, const Lanes& db, bool rounds) {
  nodes_.push_back({v, da, db, a, b});
  if (rounds) {
    Node& n = nodes_.back();
    round(n.value);
    round(n.da);
    round(n.db);
  }
  return {static_cast<int32_t>(nodes_.size() - 1)};
}
std::vector<Lanes> Tape::gradients(Number of) {
  std::vector<Lanes> d(nodes_.size(), zero);
  d[static_cast<size_t>(of.id)] = one;
  for (size_t k = static_cast<size_t>(of.id) + 1; k-- > 0;) {
    if (nodes_[k].a.id < 0 || d[k] == zero) continue;
    const Node& n = nodes_[k];
    const auto pass = [&](Number to, const Lanes& partial) {
      if (to.id < 0) return;
      Lanes term = each([&](size_t i) { return d[k][i] * partial[i]; });
      round(term);
      Lanes& sum = d[static_cast<size_t>(to.id)];
      const bool first = sum == zero;
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += term[i];
      if (!first) round(sum);
    };
    pass(n.a, n.da);
    pass(n.b, n.db);
  }
  return d;
}

Number constant(double v) { return Tape::current().constant(v); }
double value(Number x) { return Tape::current().value(x)[0]; }
double spread(const Lanes& x) {
  double s = 0;
  for (double v : x) s = std::max(s, std::abs(v - x[0]));
  return s;
}
Number detached(Number x) { return Tape::current().constant(Lanes(Tape::current().value(x))); }
int order(Number a, Number b) {
  if (a.id == b.id) return 0;
  const double gap = value(a) - value(b), doubt = spread(a) + spread(b);
  if (doubt > 0 && !(std::abs(gap) > 64 * doubt)) throw Unsure{};
  return gap < 0 ? -1 : gap > 0;
}

Number operator+(Number a, Number b) {
  const Lanes &x = Tape::current().value(a), &y = Tape::current().value(b);
  return Tape::current().result(each([&](size_t i) { return x[i] + y[i]; }), a, one, b, one);
}
Number accumulated(Number a, Number b) {
  Lanes x = Tape::current().value(a), y = Tape::current().value(b);
  Tape::current().round(x);
  Tape::current().round(y);
  return Tape::current().result(each([&](size_t i) { return x[i] + y[i]; }), a, one, b, one);
}
Number operator-(Number a, Number b) {
  const Lanes &x = Tape::current().value(a), &y = Tape::current().value(b);
  return Tape::current().result(each([&](size_t i) { return x[i] - y[i]; }), a, one, b,
                                each([](size_t) { return -1.0; }));
}
Number operator*(Number a, Number b) {
  const Lanes x = Tape::current().value(a), y = Tape::current().value(b);
  return Tape::current().result(each([&](size_t i) { return x[i] * y[i]; }), a, y, b, x);
}
Number operator/(Number a, Number b) {
  const Lanes &x = Tape::current().value(a), &y = Tape::current().value(b);
  return Tape::current().result(each([&](size_t i) { return x[i] / y[i]; }), a,
                                each([&](size_t i) { return 1 / y[i]; }), b,
                                each([&](size_t i) { return -x[i] / (y[i] * y[i]); }));
}
Number operator-(Number a) {
  const Lanes& x = Tape::current().value(a);
  return Tape::current().result(each([&](size_t i) { return -x[i]; }), a, each([](size_t) { return -1.0; }), {}, zero,
                                false);
}
Number exp(Number x) {
  return function(
      x, [](double v) { return std::exp(v); }, [](double, double y) { return y; });
}
Number log(Number x) {
  return function(
      x, [](double v) { return std::log(v); }, [](double v, double) { return 1 / v; });
}
Number log1p(Number x) {
  return function(
      x, [](double v) { return std::log1p(v); }, [](double v, double) { return 1 / (1 + v); });
}
Number sqrt(Number x) {
  return function(
      x, [](double v) { return std::sqrt(v); }, [](double, double y) { return 0.5 / y; });
}
Number sin(Number x) {
  return function(
      x, [](double v) { return std::sin(v); }, [](double v, double) { return std::cos(v); });
}
Number cos(Number x) {
  return function(
      x, [](double v) { return std::cos(v); }, [](double v, double) { return -std::sin(v); });
}
Number tanh(Number x) {
  return function(
      x, [](double v) { return std::tanh(v); }, [](double, double y) { return 1 - y * y; });
}
Number sigmoid(Number x) {
  return function(
      x, [](double v) { return 1 / (1 + std::exp(-v)); }, [](double, double y) { return y * (1 - y); });
}
Number erfc(Number x) {
  return function(
      x, [](double v) { return std::erfc(v); },
      [](double v, double) { return -2 / std::sqrt(M_PI) * std::exp(-v * v); });
}
Number power(Number a, Number b) {
  const Lanes &x = Tape::current().value(a), &y = Tape::current().value(b);
  return Tape::current().result(each([&](size_t i) { return std::pow(x[i], y[i]); }), a,
                                each([&](size_t i) { return y[i] * std::pow(x[i], y[i] - 1); }), b,
                                each([&](size_t i) { return std::pow(x[i], y[i]) * std::log(x[i]); }));
}
Number magnitude(Number a) {
  const int sign = order(a, constant(0));
  const Lanes& x = Tape::current().value(a);
  return Tape::current().result(each([&](size_t i) { return std::abs(x[i]); }), a,
                                each([&](size_t) { return double(sign); }), {}, zero, false);
}
Number halves(Number a, Number b) {
  const Lanes half = each([](size_t) { return 0.5; });
  return Tape::current().result(Lanes(Tape::current().value(a)), a, half, b, half, false);
}

}  // namespace differential
