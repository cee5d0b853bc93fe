// Table: softmax and normalisation along an axis (ops/softmax.h, ops/normalization.h).
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

bool along(Draw& draw, Step& step) {  // n: axis
  const int x = draw.within(-50, 50);
  step.in = {x};
  step.n = {draw.axis(draw[x].rank())};
  return true;
}
const double epsilons[] = {0x1p-17, 0x1p-10, 0x1p-3};
/// x, and a weight (and bias) of its last axis or none.
bool normed(Draw& draw, Step& step, int extra) {
  const int x = draw.real([](const Plain& p) { return p.rank() > 0; });
  if (draw[x].rank() == 0) return false;
  step.in = {x};
  for (int i = 0; i < extra; ++i)
    step.in.push_back(draw.chance(0.7) ? draw.shaped(Kind::real, {draw[x].shape.back()}) : -1);
  step.r = {epsilons[draw.below(3)]};
  return true;
}

/// f on every line along the axis, to a line as long.
Plain line_by_line(const Plain& x, int64_t axis, const std::function<Row(const Row&)>& f) {
  Shape ones = x.shape;
  if (!ones.empty()) ones[static_cast<size_t>(axis)] = 1;
  std::map<int64_t, Row> lines;
  if (x.size()) each(ones, [&](const Index& i) { lines[flat(x.shape, i)] = f(row(x, axis, i, true)); });
  return made(x.shape, [&](const Index& i) {
    return lines[flat(x.shape, with(i, axis, 0))][i.empty() ? 0 : static_cast<size_t>(i[static_cast<size_t>(axis)])];
  });
}
Row log_softmaxed(const Row& x) {
  const Number sum = logsumexp_of(x);
  Row y;
  for (Number v : x) y.push_back(v - sum);
  return y;
}
Row affine(Row y, P x) {
  for (size_t i = 0; i < y.size(); ++i) {
    if (x[1].defined()) y[i] = y[i] * x[1]({static_cast<int64_t>(i)});
    if (x.size() > 2 && x[2].defined()) y[i] = y[i] + x[2]({static_cast<int64_t>(i)});
  }
  return y;
}
Row layer_normed(const Row& x, double eps) {
  const Number n = integer(static_cast<int64_t>(x.size()));
  // By way of the first element, as kernels have it that must not lose [40000, 40001, ..]: rounded as a number of its
  // size.
  const Number mean = x.empty() ? constant(0) : total(x) / n + x[0] - x[0];
  Row centred, squares;
  for (Number v : x) {
    centred.push_back(v - mean);
    // The mean's share in the variance's gradient is 0, and left out (as in reduce.cpp).
    const Number deviation = v - detached(mean);
    squares.push_back(deviation * deviation);
  }
  const Number deviation = sqrt(total(squares) / n + constant(eps));
  for (Number& v : centred) v = v / deviation;
  return centred;
}
Row rms_normed(const Row& x, double eps) {
  Row squares, y;
  for (Number v : x) squares.push_back(v * v);
  const Number size = sqrt(total(squares) / integer(static_cast<int64_t>(x.size())) + constant(eps));
  for (Number v : x) y.push_back(v / size);
  return y;
}

}  // namespace

std::vector<Operation> row_operations() {
  const Operation::Breaks axis{.axis = true, .floating = true}, floating{.floating = true};
  return {
      {"softmax",
       along,
       [](L, S s, X x) { return T{softmax(x[0], s.n[0])}; },
       [](S s, P x) { return Plains{line_by_line(x[0], axis_of(s.n[0], x[0].rank()), softmaxed)}; },
       {},
       axis},
      {"log_softmax",
       along,
       [](L, S s, X x) { return T{log_softmax(x[0], s.n[0])}; },
       [](S s, P x) { return Plains{line_by_line(x[0], axis_of(s.n[0], x[0].rank()), log_softmaxed)}; },
       {},
       axis},
      {"layer_norm",
       [](Draw& draw, Step& step) { return normed(draw, step, 2); },
       [](L, S s, X x) { return T{layer_norm(x[0], x[1], x[2], s.r[0])}; },
       [](S s, P x) {
         return Plains{
             line_by_line(x[0], x[0].rank() - 1, [&](const Row& v) { return affine(layer_normed(v, s.r[0]), x); })};
       },
       {},
       floating,
       6},
      {"rms_norm",
       [](Draw& draw, Step& step) { return normed(draw, step, 1); },
       [](L, S s, X x) { return T{rms_norm(x[0], x[1], s.r[0])}; },
       [](S s, P x) {
         return Plains{
             line_by_line(x[0], x[0].rank() - 1, [&](const Row& v) { return affine(rms_normed(v, s.r[0]), x); })};
       },
       {},
       floating},
  };
}

}  // namespace differential
