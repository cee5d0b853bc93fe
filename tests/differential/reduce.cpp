// Table: reductions (ops/reduce.h).
#include <cmath>

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

// Over axes: n = keepdim, then the axes, each once. Over everything: n is empty.
bool some_axes(Draw& draw, Step& step, int x) {
  step.in = {x};
  step.n = {draw.below(2)};
  const int rank = draw[x].rank();
  for (int i = 0; i < rank; ++i)
    if (draw.chance(0.4)) step.n.push_back(draw.chance(0.3) ? i - rank : i);
  return true;
}
Dims axes_of(S s) { return dims(Shape(s.n.begin() + 1, s.n.end())); }
bool summing(Draw& draw, Step& step) {
  const Kind kinds[] = {Kind::real, Kind::real, Kind::real, Kind::integer, Kind::boolean};
  return some_axes(draw, step, draw.pick(kinds[draw.below(5)]));
}
bool summing_all(Draw& draw, Step& step) {
  step.in = {draw.pick(arithmetic_kind(draw))};
  return true;
}
bool full(const Plain& p) { return p.size() > 0; }
bool averaging(Draw& draw, Step& step) {
  const int x = draw.real(full);
  return full(draw[x]) && some_axes(draw, step, x);
}
bool averaging_all(Draw& draw, Step& step) {
  const int x = draw.real(full);
  step.in = {x};
  return full(draw[x]);
}
const double powers[] = {1, 2, 3, INFINITY, 2.5};
bool norms(Draw& draw, Step& step) {
  step.r = {powers[draw.below(5)]};
  return averaging(draw, step);
}
bool norm_of_all(Draw& draw, Step& step) {
  step.r = {powers[draw.below(5)]};
  return averaging_all(draw, step);
}
bool variances(Draw& draw, Step& step) {
  step.r = {static_cast<double>(draw.below(2))};
  return averaging(draw, step);
}
bool exponents(Draw& draw, Step& step) {  // n: axis, keepdim
  const int x =
      draw.within(-30, 30);  // the gradient has the weights from the result, rounded as a number of its own size
  if (!full(draw[x])) return false;
  step.in = {x};
  step.n = {draw.axis(draw[x].rank()), draw.below(2)};
  return true;
}
bool truths(Draw& draw, Step& step) {
  const int x = draw.pick(Kind::boolean);
  step.in = {x};
  step.n = {draw.axis(draw[x].rank()), draw.below(2)};
  return true;
}
bool narrowing(Draw& draw, Step& step) {
  const int x = draw.real();
  step.in = {x};
  step.n = draw[x].shape;
  for (int64_t& s : step.n)
    if (draw.chance(0.4)) s = 1;
  while (!step.n.empty() && draw.chance(0.3)) step.n.erase(step.n.begin());
  return true;
}

/// f over the elements that the (reduced) axes run through.
Plain folded(const Plain& x, const std::vector<bool>& gone, bool keepdim, Kind kind,
             const std::function<Number(const Row&)>& f) {
  Shape kept, inner;
  for (size_t i = 0; i < x.shape.size(); ++i) {
    if (!gone[i] || keepdim) kept.push_back(gone[i] ? 1 : x.shape[i]);
    inner.push_back(gone[i] ? x.shape[i] : 1);
  }
  return made(
      kept,
      [&](const Index& i) {
        Index base(x.shape.size(), 0);
        for (size_t k = 0, from = 0; k < base.size(); ++k)
          if (!gone[k] || keepdim) base[k] = i[from++];
        Row all;
        each(inner, [&](const Index& j) {
          Index at = base;
          for (size_t k = 0; k < at.size(); ++k) at[k] += j[k];
          all.push_back(x(at));
        });
        return f(all);
      },
      kind);
}
Plain folded(S s, const Plain& x, const std::function<Number(const Row&)>& f, Kind kind = Kind::real) {
  std::vector<bool> gone(x.shape.size(), s.n.empty());
  for (size_t i = 1; i < s.n.size(); ++i) gone[static_cast<size_t>(axis_of(s.n[i], x.rank()))] = true;
  return folded(x, gone, !s.n.empty() && s.n[0], kind, f);
}
Number exact_total(const Row& x) {
  double sum = 0;
  for (Number v : x) sum += value(v);
  return constant(sum);
}
Plains sums(S s, P x) {
  if (x[0].kind == Kind::real) return {folded(s, x[0], total)};
  return {folded(s, x[0], exact_total, Kind::integer)};
}
Number mean_of(const Row& x) { return total(x) / integer(static_cast<int64_t>(x.size())); }
Plains means(S s, P x) { return {folded(s, x[0], mean_of)}; }
Number var_of(const Row& x, double correction) {
  const double n = static_cast<double>(x.size()) - correction;
  if (n <= 0) throw Unsure{};
  // The mean's share in the gradient is the sum of the deviations, which is 0: left out, as everyone does, for it would
  // cancel the mean's own rounding.
  const Number mean = detached(mean_of(x));
  Row squares;
  for (Number v : x) squares.push_back((v - mean) * (v - mean));
  return total(squares) / constant(n);
}
Number stddev_of(const Row& x, double correction) {
  const Number v = var_of(x, correction);
  if (value(v) < 1e-3) throw Unsure{};  // the root's slope
  return sqrt(v);
}
Plains vars(S s, P x) {
  return {folded(s, x[0], [&](const Row& v) { return var_of(v, s.r.empty() ? 1 : s.r[0]); })};
}
Plains stddevs(S s, P x) {
  return {folded(s, x[0], [&](const Row& v) { return stddev_of(v, s.r.empty() ? 1 : s.r[0]); })};
}
Number norm_of(const Row& x, double p) {
  Row sizes;
  for (Number v : x) sizes.push_back(magnitude(v));
  if (std::isinf(p)) {
    Number top = sizes[0];
    for (size_t i = 1; i < sizes.size(); ++i) {
      const int c = order(sizes[i], top);
      if (c == 0) throw Unsure{};  // whose is the gradient?
      if (c > 0) top = sizes[i];
    }
    return top;
  }
  Row terms;
  double largest = 0;
  for (Number v : sizes) {
    if (value(v) != 0) terms.push_back(p == 1 ? v : power(v, constant(p)));
    largest = std::max(largest, value(v));
  }
  if (largest < 1e-2) throw Unsure{};  // the root's slope
  return p == 1 ? total(terms) : power(total(terms), constant(1 / p));
}
Plains norms_of(S s, P x) {
  return {folded(s, x[0], [&](const Row& v) { return norm_of(v, s.r[0]); })};
}
template <bool any>
Number truth_of(const Row& x) {
  bool found = !any;
  for (Number v : x) found = any ? found || value(v) != 0 : found && value(v) != 0;
  return integer(found);
}
template <bool any>
Plains truth(S s, P x) {
  const int64_t axis = axis_of(s.n[0], x[0].rank());
  return {made(
      reduced(x[0].shape, axis, s.n[1]), [&](const Index& i) { return truth_of<any>(row(x[0], axis, i, s.n[1])); },
      Kind::boolean)};
}
template <bool any>
Plains truth_of_all(S, P x) {
  return {folded(x[0], std::vector<bool>(x[0].shape.size(), true), false, Kind::boolean, truth_of<any>)};
}

}  // namespace

std::vector<Operation> reduce_operations() {
  const Operation::Breaks floating{.floating = true};
  const auto v = Operation::view;
  return {
      {"sum", summing, [](L, S s, X x) { return T{sum(x[0], axes_of(s), s.n[0])}; }, sums, {}, {}, 8},
      {"sum", summing_all, [](L, S, X x) { return T{sum(x[0])}; }, sums, {}, {}, 1},
      {"sum_to", narrowing, [](L, S s, X x) { return T{sum_to(x[0], dims(s.n))}; },
       [](S s, P x) {
         if (s.n == x[0].shape) return Plains{x[0]};
         std::vector<bool> gone;
         const size_t lead = x[0].shape.size() - s.n.size();
         for (size_t i = 0; i < x[0].shape.size(); ++i) gone.push_back(i < lead || s.n[i - lead] != x[0].shape[i]);
         Plain y = folded(x[0], gone, true, Kind::real, total);
         y.shape = s.n;
         return Plains{y};
       },
       v},
      {"mean", averaging, [](L, S s, X x) { return T{mean(x[0], axes_of(s), s.n[0])}; }, means},
      {"mean", averaging_all, [](L, S, X x) { return T{mean(x[0])}; }, means, {}, {}, 1},
      {"var", variances, [](L, S s, X x) { return T{var(x[0], axes_of(s), s.r[0], s.n[0])}; }, vars, {}, floating},
      {"var", averaging_all, [](L, S, X x) { return T{var(x[0])}; }, vars, {}, floating, 1},
      {"stddev",
       variances,
       [](L, S s, X x) { return T{stddev(x[0], axes_of(s), s.r[0], s.n[0])}; },
       stddevs,
       {},
       floating},
      {"stddev", averaging_all, [](L, S, X x) { return T{stddev(x[0])}; }, stddevs, {}, floating, 1},
      {"norm", norms, [](L, S s, X x) { return T{norm(x[0], s.r[0], axes_of(s), s.n[0])}; }, norms_of, {}, floating},
      {"norm", norm_of_all, [](L, S s, X x) { return T{norm(x[0], s.r[0])}; }, norms_of, {}, floating, 1},
      {"logsumexp",
       exponents,
       [](L, S s, X x) { return T{logsumexp(x[0], s.n[0], s.n[1])}; },
       [](S s, P x) {
         const int64_t axis = axis_of(s.n[0], x[0].rank());
         return Plains{made(reduced(x[0].shape, axis, s.n[1]),
                            [&](const Index& i) { return logsumexp_of(row(x[0], axis, i, s.n[1])); })};
       },
       {},
       {.axis = true, .floating = true}},
      {"any", truths, [](L, S s, X x) { return T{any(x[0], s.n[0], s.n[1])}; }, truth<true>, {}, {.axis = true}, 2},
      {"all", truths, [](L, S s, X x) { return T{all(x[0], s.n[0], s.n[1])}; }, truth<false>, {}, {.axis = true}, 2},
      {"any", truths, [](L, S, X x) { return T{any(x[0])}; }, truth_of_all<true>, {}, {}, 1},
      {"all", truths, [](L, S, X x) { return T{all(x[0])}; }, truth_of_all<false>, {}, {}, 1},
  };
}

}  // namespace differential
