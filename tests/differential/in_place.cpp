// Table: arithmetic in place (ops/arithmetic.h).
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

/// What may be written: no gradient, nothing saved, no element twice.
bool writable(const Plain& x) {
  return !x.grad && !x.memory->frozen && std::set<int64_t>(x.at.begin(), x.at.end()).size() == x.at.size();
}
template <int low, int high>  // hundredths that the second operand lies between
bool pair(Draw& draw, Step& step) {
  const int a = draw.pick(Kind::real, writable, false);
  if (a < 0) return false;
  const int b = draw.partner(a, Kind::real, true, low / 100.0, high / 100.0);
  if (draw[b].grad) step.mode = Mode::no_grad;
  step.in = {a, b};
  return true;
}
bool with_number(Draw& draw, Step& step) {
  const int a = draw.pick(Kind::real, writable, false);
  if (a < 0) return false;
  step.in = {a};
  step.r = {draw.number(0.5, 3)};
  return true;
}
Plains write(const Plain& target, const std::function<Number(const Index&)>& value_at) {
  std::vector<Number> all;
  each(target.shape, [&](const Index& i) { all.push_back(detached(value_at(i))); });
  for (size_t i = 0; i < all.size(); ++i)
    if (std::abs(value(all[i])) > 1e4) throw Unsure{};  // written again and again, they grow
  for (size_t i = 0; i < all.size(); ++i) target.memory->cells[static_cast<size_t>(target.at[i])] = all[i];
  return {};
}
template <void (*f)(const Tensor&, const Tensor&)>
T by_tensor(L, S, X x) {
  f(x[0], x[1]);
  return {};
}
template <void (*f)(const Tensor&, tutti::Number)>
T by_number(L, S s, X x) {
  f(x[0], s.r[0]);
  return {};
}
template <Number (*f)(Number, Number)>
Plains with_tensor(S, P x) {
  return write(x[0], [&](const Index& i) { return f(x[0](i), pulled(x[1], i)); });
}
template <Number (*f)(Number, Number)>
Plains with_constant(S s, P x) {
  return write(x[0], [&](const Index& i) { return f(x[0](i), constant(s.r[0])); });
}
Number plus(Number a, Number b) { return a + b; }
Number minus(Number a, Number b) { return a - b; }
Number times(Number a, Number b) { return a * b; }
Number over(Number a, Number b) { return a / b; }

}  // namespace

std::vector<Operation> in_place_operations() {
  const auto w = Operation::writes;
  const Operation::Breaks fit{.fit = true};
  return {
      {"add_", pair<-200, 200>, by_tensor<add_>, with_tensor<plus>, w, fit},
      {"sub_", pair<-200, 200>, by_tensor<sub_>, with_tensor<minus>, w, fit},
      {"mul_", pair<-200, 200>, by_tensor<mul_>, with_tensor<times>, w, fit},
      {"div_", pair<25, 400>, by_tensor<div_>, with_tensor<over>, w, fit},
      {"add_", with_number, by_number<add_>, with_constant<plus>, w, {}, 2},
      {"sub_", with_number, by_number<sub_>, with_constant<minus>, w, {}, 2},
      {"mul_", with_number, by_number<mul_>, with_constant<times>, w, {}, 2},
      {"div_", with_number, by_number<div_>, with_constant<over>, w, {}, 2},
  };
}

}  // namespace differential
