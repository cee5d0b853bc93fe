// Table: losses (ops/loss.h), and dropout where it is certain (ops/random.h).
#include "differential/family.h"

using namespace tutti;

namespace differential {
namespace {

using T = Tensors;
using L = const Library&;
using S = const Step&;
using X = const Tensors&;
using P = const Plains&;

/// `add` adds the losses up.
Plains reduced_loss(const Plain& losses, int64_t reduction, Number divisor, Number (*add)(std::vector<Number>)) {
  if (reduction == static_cast<int64_t>(Reduction::none)) return {losses};
  std::vector<Number> all;
  for (int64_t i = 0; i < losses.size(); ++i) all.push_back(losses[i]);
  Number sum = add(all);
  if (reduction == static_cast<int64_t>(Reduction::mean)) sum = sum / divisor;
  return {made({}, [&](const Index&) { return sum; })};
}
/// One after another, as cross_entropy does (in float64 whatever the dtype).
Number in_turn(std::vector<Number> x) {
  Number sum = constant(0);
  for (Number v : x) sum = sum + v;
  return sum;
}
/// n: reduction.
bool against(Draw& draw, Step& step) {
  const int x = draw.within(-20, 20);
  step.in = {x, draw.shaped(Kind::real, draw[x].shape)};
  step.n = {draw.below(3)};
  return draw[x].size() > 0;
}
Plains paired(S s, P x, Number (*f)(Number, Number)) {
  const Plain losses = made(x[0].shape, [&](const Index& i) { return f(x[0](i), x[1](i)); });
  return reduced_loss(losses, s.n[0], integer(x[0].size()), total);
}
Number squared_error(Number x, Number target) { return (x - target) * (x - target); }
/// max(x, 0) - x t + log(1 + exp(-|x|)).
Number binary_cross_entropy(Number x, Number target) {
  const bool positive = value(x) > 0;
  const Number tail = log1p(exp(positive ? -x : x));
  return (positive ? x : constant(0)) - x * target + tail;
}

/// x, target, weight; n: reduction, ignored; r: smoothing.
bool classifying(Draw& draw, Step& step) {
  const int x = draw.within(-30, 30);  // its gradient keeps log sum exp, rounded: the weights lose what it is large by
  if (draw[x].rank() == 0 || draw[x].shape.back() == 0) return false;
  Shape positions = draw[x].shape;
  const int64_t classes = positions.back();
  positions.pop_back();
  if (count(positions) == 0) return false;
  const int64_t ignored = draw.chance(0.5) ? draw.below(classes) : -100;
  const int target = draw.leaf(Kind::integer, positions, 0, static_cast<double>(classes));
  step.in = {x, target, draw.chance(0.4) ? draw.leaf(Kind::real, {classes}, 0.25, 2) : -1};
  if (step.in[2] >= 0) draw.program.leaves[step.in[2]].grad = draw.values[step.in[2]].grad = false;
  const double smoothing[] = {0, 0, 0.125, 0.5, 1};
  step.n = {draw.below(3), ignored};
  step.r = {smoothing[draw.below(5)]};
  return true;
}
Plains cross_entropy_of(S s, P x) {
  const int64_t classes = x[0].shape.back();
  const auto weight_of = [&](int64_t c) { return x[2].defined() ? x[2]({c}) : constant(1); };
  std::vector<Number> counted;  // weights of the positions that count
  const Plain losses = made(x[1].shape, [&](const Index& at) {
    const int64_t target = x[1].integer(flat(x[1].shape, at));
    if (target == s.n[1]) return constant(0);
    Index i = at;
    i.push_back(0);
    const auto logits = row(x[0], x[0].rank() - 1, i, true);
    const Number log_sum = logsumexp_of(logits);
    counted.push_back(weight_of(target));
    Number loss = weight_of(target) * (log_sum - logits[static_cast<size_t>(target)]);
    if (s.r[0] == 0) return loss;
    std::vector<Number> smooth;
    for (int64_t c = 0; c < classes; ++c) smooth.push_back(weight_of(c) * (log_sum - logits[static_cast<size_t>(c)]));
    return constant(1 - s.r[0]) * loss + constant(s.r[0] / static_cast<double>(classes)) * total(smooth);
  });
  return reduced_loss(losses, s.n[0], counted.empty() ? constant(1) : in_turn(counted), in_turn);
}
bool dropping(Draw& draw, Step& step) {  // n: training; r: p
  step.in = {draw.real()};
  step.n = {draw.below(2)};
  step.r = {static_cast<double>(draw.below(2))};
  return true;
}

}  // namespace

std::vector<Operation> loss_operations() {
  const Operation::Breaks both{.floating = true, .fit = true};
  return {
      {"mse_loss",
       against,
       [](L, S s, X x) { return T{mse_loss(x[0], x[1], static_cast<Reduction>(s.n[0]))}; },
       [](S s, P x) { return paired(s, x, squared_error); },
       {},
       both},
      {"binary_cross_entropy_with_logits",
       against,
       [](L, S s, X x) { return T{binary_cross_entropy_with_logits(x[0], x[1], static_cast<Reduction>(s.n[0]))}; },
       [](S s, P x) { return paired(s, x, binary_cross_entropy); },
       {},
       both},
      {"cross_entropy",
       classifying,
       [](L, S s, X x) {
         return T{cross_entropy(x[0], x[1],
                                {.label_smoothing = s.r[0],
                                 .ignore_index = s.n[1],
                                 .weight = x[2],
                                 .reduction = static_cast<Reduction>(s.n[0])})};
       },
       cross_entropy_of,
       {},
       {.floating = true},
       6},
      {"dropout",
       dropping,
       [](L, S s, X x) { return T{dropout(x[0], s.r[0], s.n[0])}; },
       [](S s, P x) {
         if (!s.n[0] || s.r[0] == 0) return itself(x[0]);
         return Plains{made(x[0].shape, [&](const Index& i) { return x[0](i) * constant(0); })};
       },
       Operation::view,
       {.floating = true},
       1},
  };
}

}  // namespace differential
