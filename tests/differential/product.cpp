// Table: products (ops/matmul.h, ops/linear.h).
#include "differential/family.h"

using namespace tutti;

namespace differential {
namespace {

using T = Tensors;
using L = const Library&;
using S = const Step&;
using X = const Tensors&;
using P = const Plains&;

bool multiplying(Draw& draw, Step& step) {
  const int a = draw.real([](const Plain& p) { return p.rank() > 0; });
  if (draw[a].rank() == 0) return false;
  const Shape x = draw[a].shape;
  Shape y;  // of the other operand
  if (draw.chance(0.2)) {
    y = {x.back()};
  } else {
    for (size_t i = 0; i + 2 < x.size(); ++i) y.push_back(draw.chance(0.3) ? 1 : x[i]);
    if (draw.chance(0.3)) y.clear();
    if (draw.chance(0.1)) y.insert(y.begin(), y.size() + 2 >= x.size() ? 2 : 1);
    y.push_back(x.back());
    y.push_back(draw.chance(0.1) ? 0 : 1 + draw.below(6));
  }
  Shape batch;
  if (!broadcast({x.begin(), x.end() - std::min<int64_t>(2, static_cast<int64_t>(x.size()))},
                 {y.begin(), y.end() - std::min<int64_t>(2, static_cast<int64_t>(y.size()))}, batch))
    return false;
  if (batch.size() > 5 || !draw.cheap(count(batch) * (x.size() > 1 ? x[x.size() - 2] : 1) * x.back() * y.back() * 2))
    return false;
  step.in = {a, draw.shaped(Kind::real, y)};
  return true;
}
Plains multiplied(S, P x) {
  Plain a = x[0], b = x[1];
  const bool row = a.rank() == 1, column = b.rank() == 1;
  if (row) a.shape.insert(a.shape.begin(), 1);
  if (column) b.shape.push_back(1);
  const size_t m = a.shape.size() - 2, n = b.shape.size() - 2;
  Shape shape;
  broadcast({a.shape.begin(), a.shape.begin() + static_cast<int64_t>(m)},
            {b.shape.begin(), b.shape.begin() + static_cast<int64_t>(n)}, shape);
  shape.push_back(a.shape[m]);
  shape.push_back(b.shape[n + 1]);
  const auto batch = [](const Index& i, const Plain& p) {
    Index at(p.shape.size(), 0);
    for (size_t k = 0; k + 2 < at.size(); ++k) at[k] = p.shape[k] == 1 ? 0 : i[i.size() - at.size() + k];
    return at;
  };
  Plain y = made(shape, [&](const Index& i) {
    Index left = batch(i, a), right = batch(i, b);
    left[m] = i[i.size() - 2];
    right[n + 1] = i.back();
    std::vector<Number> terms;
    for (int64_t k = 0; k < a.shape.back(); ++k) {
      left[m + 1] = right[n] = k;
      terms.push_back(a(left) * b(right));
    }
    return total(terms);
  });
  if (column) y.shape.pop_back();
  if (row) y.shape.erase(y.shape.end() - (column ? 1 : 2));
  return {y};
}
bool batches(Draw& draw, Step& step) {
  const int a = draw.real([](const Plain& p) { return p.rank() == 3; });
  const Shape x = draw[a].shape;
  if (x.size() != 3) return false;
  const int64_t n = draw.below(6);
  if (!draw.cheap(count(x) * n * 2)) return false;
  step.in = {a, draw.shaped(Kind::real, {x[0], x[2], n})};
  return true;
}
bool mapping(Draw& draw, Step& step) {
  const int x = draw.real([](const Plain& p) { return p.rank() > 0; });
  if (draw[x].rank() == 0) return false;
  const int64_t out = draw.below(7), in = draw[x].shape.back();
  if (!draw.cheap(draw[x].size() * out * 2)) return false;
  step.in = {x, draw.shaped(Kind::real, {out, in}), draw.chance(0.7) ? draw.shaped(Kind::real, {out}) : -1};
  return true;
}
/// x [.., in] by weight [out, in].
Plains mapped(S, P x) {
  Shape shape = x[0].shape;
  const int64_t in = shape.back();
  shape.back() = x[1].shape[0];
  return {made(shape, [&](Index i) {
    const int64_t o = i.back();
    std::vector<Number> terms;
    for (int64_t k = 0; k < in; ++k) {
      i.back() = k;
      terms.push_back(x[0](i) * x[1]({o, k}));
    }
    if (x[2].defined()) terms.push_back(x[2]({o}));
    return total(terms);
  })};
}
bool two_layers(Draw& draw, Step& step) {
  if (!mapping(draw, step)) return false;
  const int64_t hidden = draw[step.in[1]].shape[0], out = draw.below(7);
  step.in.push_back(draw.shaped(Kind::real, {out, hidden}));
  step.in.push_back(draw.chance(0.7) ? draw.shaped(Kind::real, {out}) : -1);
  return draw.cheap(draw[step.in[0]].size() * (hidden + out + 1) * 8);
}
Plains both_layers(S s, P x) {
  Plain middle = mapped(s, x)[0];
  for (Number& u : middle.memory->cells) u = constant(0.5) * u * erfc(constant(-std::sqrt(0.5)) * u);
  return mapped(s, {middle, x[3], x[4]});
}
bool grouped(Draw& draw, Step& step) {
  const int x = draw.real([](const Plain& p) { return p.rank() > 0 && p.shape.back() > 1; });
  if (draw[x].rank() == 0) return false;
  const int64_t in = draw[x].shape.back(), out = draw.below(4);
  int64_t groups = 1 + draw.below(4);
  while (in % groups) --groups;
  const int64_t parts = draw.chance(0.4) ? 1 + draw.below(3) : 0;
  Shape weight{groups, out, in / groups};
  if (parts) weight.insert(weight.begin(), parts);
  const int64_t all = std::max<int64_t>(parts, 1) * groups * out;
  if (in == 0 || !draw.cheap(draw[x].size() * (all + 1) * 2)) return false;
  step.in = {x, draw.shaped(Kind::real, weight), draw.chance(0.7) ? draw.shaped(Kind::real, {all}) : -1};
  return true;
}
Plains grouped_of(S, P x) {
  Plain w = x[1];
  if (w.rank() == 3) w.shape.insert(w.shape.begin(), 1);
  const int64_t groups = w.shape[1], out = w.shape[2], in = w.shape[3];
  Shape shape = x[0].shape;
  shape.back() = w.shape[0] * groups * out;
  return {made(shape, [&](Index i) {
    const int64_t channel = i.back(), part = channel / (groups * out), group = channel / out % groups;
    std::vector<Number> terms;
    for (int64_t k = 0; k < in; ++k) {
      i.back() = group * in + k;
      terms.push_back(x[0](i) * w({part, group, channel % out, k}));
    }
    if (x[2].defined()) terms.push_back(x[2]({channel}));
    return total(terms);
  })};
}

}  // namespace

std::vector<Operation> product_operations() {
  const Operation::Breaks both{.floating = true, .fit = true}, floating{.floating = true};
  return {
      {"matmul", multiplying, two<tutti::matmul>, multiplied, {}, both, 10},
      {"bmm", batches, two<tutti::bmm>, multiplied, {}, both},
      {"linear", mapping, [](L, S, X x) { return T{linear(x[0], x[1], x[2])}; }, mapped, {}, floating, 6},
      {"feed_forward",
       two_layers,
       [](L, S, X x) { return T{feed_forward(x[0], x[1], x[2], x[3], x[4])}; },
       both_layers,
       {},
       floating},
      {"grouped_linear",
       grouped,
       [](L, S, X x) { return T{grouped_linear(x[0], x[1], x[2])}; },
       grouped_of,
       {},
       floating,
       6},
  };
}

}  // namespace differential
