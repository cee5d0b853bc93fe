#include "differential/draw.h"

#include <algorithm>
#include <cmath>

#include "differential/apply.h"

namespace differential {

Draw::Draw(uint64_t seed, bool is_big) : big(is_big), state_(seed) {
  program.seed = seed;
  state_ = next() * 0x2545F4914F6CDD1Du;  // far from its neighbours' numbers
}
uint64_t Draw::next() {  // splitmix64
  uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}
double Draw::uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
int64_t Draw::below(int64_t n) { return n > 0 ? static_cast<int64_t>(next() % static_cast<uint64_t>(n)) : 0; }
double Draw::number(double low, double high) { return std::round((low + (high - low) * uniform()) * 64) / 64; }
int64_t Draw::axis(int rank) { return rank ? below(2 * rank) - rank : -below(2); }

Shape Draw::shape(int max_rank) {
  Shape s;
  if (big) {
    const int64_t n = 1 << (11 + below(4));  // 2048 .. 16384, and something
    const int64_t shapes[] = {1, 3, 17, 64, 256};
    const int64_t inner = shapes[below(5)];
    s = {n / inner + below(3), inner};
    if (chance(0.4)) s = {2, n / inner / 2 + below(2), inner};
    if (chance(0.3)) std::swap(s.front(), s.back());
    return s;
  }
  for (int64_t rank = below(max_rank + 1); rank > 0; --rank) s.push_back(chance(0.03) ? 0 : 1 + below(5));
  if (!s.empty() && chance(0.1)) s.back() = 1 + below(40);  // beyond one vector
  return s;
}

int Draw::leaf(Kind kind, const Shape& shape, double low, double high) {
  Leaf l;
  l.kind = kind;
  l.shape = shape;
  const bool grid = chance(0.25);  // ties
  for (int64_t i = count(shape); i > 0; --i) {
    double v = low + (high - low) * uniform();
    if (kind == Kind::boolean)
      v = chance(0.6);
    else if (kind != Kind::real)
      v = std::floor(v);
    else if (grid)
      v = std::max(low, std::round(v * 4) / 4);
    l.values.push_back(static_cast<double>(static_cast<float>(v)));
  }
  l.grad = kind == Kind::real && chance(0.8);
  // Elements that share memory would share the plain array's numbers too: not broadcast here, expand is in the table.
  l.layout = static_cast<tutti_test::Layout>(below(3));
  const int id = program.values++;
  values[id] = plain_leaf(l);
  program.leaves[id] = std::move(l);
  return id;
}

int Draw::pick(Kind kind, const Test& test, bool fresh) {
  std::vector<int> fitting;
  if (!fresh || chance(0.85))
    for (const auto& [id, x] : values)
      if (x.kind == kind && (!test || test(x))) fitting.push_back(id);
  // Later ones more often, so that programs grow deep.
  if (!fitting.empty()) {
    const auto n = static_cast<int64_t>(fitting.size());
    return fitting[static_cast<size_t>(std::max(below(n), below(n)))];
  }
  return fresh ? leaf(kind, shape()) : -1;
}
int Draw::within(double low, double high) {
  const int x = pick(Kind::real, [&](const Plain& p) {
    for (int64_t i = 0; i < p.size(); ++i)
      if (const double v = value(p[i]); v < low || v > high) return false;
    return true;
  });
  for (int64_t i = 0; i < values[x].size(); ++i)
    if (const double v = value(values[x][i]); v < low || v > high)
      return leaf(Kind::real, values[x].shape, std::max(low, -4.0), std::min(high, 4.0));
  return x;
}
int Draw::shaped(Kind kind, const Shape& shape, double low, double high) {
  if (kind == Kind::real && low == -2 && high == 2 && chance(0.5)) {
    const int x = pick(
        kind, [&](const Plain& p) { return p.shape == shape; }, false);
    if (x >= 0) return x;
  }
  return leaf(kind, shape, low, high);
}
int Draw::partner(int x, Kind kind, bool to_x, double low, double high) {
  const Shape& own = values[x].shape;
  Shape both;
  const auto fits = [&](const Plain& p) {
    if (!broadcast(own, p.shape, both)) return false;
    return to_x ? both == own : both.size() <= 6 && cheap(count(both));
  };
  const auto in_range = [&](const Plain& p) {
    for (int64_t i = 0; i < p.size(); ++i)
      if (const double v = value(p[i]); v < low || v > high) return false;
    return fits(p);
  };
  if (chance(0.5)) {
    const int y = pick(kind, kind == Kind::real ? Test(in_range) : Test(fits), false);
    if (y >= 0) return y;
  }
  Shape s = own;
  for (int64_t& n : s) {
    if (n == 1 && !to_x && !big)
      n = chance(0.5) ? 1 : 1 + below(4);
    else if (chance(0.25))
      n = 1;
  }
  while (!s.empty() && chance(0.2)) s.erase(s.begin());
  if (!to_x && !big && s.size() == own.size() && s.size() < 4 && chance(0.15)) s.insert(s.begin(), 1 + below(3));
  return leaf(kind, s, low, high);
}

namespace {

/// What a call may not have: the step broken in one way.
bool broken(Draw& draw, Step& step) {
  const auto& breaks = step.operation->breaks;
  const Step good = step;
  step.malformed = true;
  switch (draw.below(4)) {
    case 0:
      if (!breaks.axis) return false;
      step.n[0] = draw.chance(0.5) ? 7 + draw.below(3) : -8 - draw.below(3);
      if (draw.chance(0.1)) step.n[0] = draw.chance(0.5) ? INT64_MAX : INT64_MIN;
      return true;
    case 1:
      if (!breaks.floating) return false;
      step.in[0] = draw.leaf(draw.chance(0.5) ? Kind::integer : Kind::boolean, draw[good.in[0]].shape, 0, 2);
      return true;
    case 2: {
      if (!breaks.fit) return false;
      const Plain& first = draw[good.in[0]];
      if (first.rank() == 0 || first.shape.back() == 1 || first.shape.back() == 97) return false;
      step.in.back() = draw.leaf(draw[good.in.back()].kind, {97});
      return true;
    }
    default:
      if (step.in.empty()) return false;
      step.in[0] = -1;
      return true;
  }
}

constexpr int most_results = 64;

}  // namespace

Program random_program(uint64_t seed, int steps, bool big) {
  static const std::vector<const Operation*> table = operations();
  static const int64_t all = [] {
    int64_t sum = 0;
    for (const Operation* o : table) sum += o->weight;
    return sum;
  }();
  Draw draw(seed, big);
  Tape tape(seed);
  std::map<int, int> uses;
  for (int tries = 0; static_cast<int>(draw.program.steps.size()) < steps && tries < 6 * steps; ++tries) {
    int64_t at = draw.below(all);
    size_t which = 0;
    while (at >= table[which]->weight) at -= table[which++]->weight;
    Step step;
    step.operation = table[which];
    const int before = draw.program.values;
    const auto undo = [&] {
      for (int id = before; id < draw.program.values; ++id) {
        draw.values.erase(id);
        draw.program.leaves.erase(id);
      }
      draw.program.values = before;
    };
    try {
      if (!step.operation->propose(draw, step)) {
        undo();
        continue;
      }
      if (draw.chance(0.08)) {
        if (broken(draw, step))
          draw.program.steps.push_back(step);
        else
          undo();
        continue;
      }
      const bool pure = step.operation->trait == Operation::results;
      Plains x;
      if (step.mode == Mode::plain && pure && draw.chance(0.06))
        step.mode = draw.chance(0.5) ? Mode::no_grad : Mode::checkpoint;
      if (step.operation->trait == Operation::view && draw.chance(0.03)) step.mode = Mode::no_grad;
      for (int id : step.in) x.push_back(id < 0 ? Plain{} : draw[id]);
      step.out.assign(most_results, 0);
      const int first = draw.program.values;
      for (int k = 0; k < most_results; ++k) step.out[static_cast<size_t>(k)] = first + k;
      differential::apply(step, draw.values);
      step.out.clear();
      while (draw.values.count(first + static_cast<int>(step.out.size())))
        step.out.push_back(first + static_cast<int>(step.out.size()));
      draw.program.values += static_cast<int>(step.out.size());
      if (step.mode == Mode::checkpoint && (step.out.size() != 1 || !draw[step.out[0]].grad)) step.mode = Mode::plain;
      for (int id : step.in) ++uses[id];
      draw.program.steps.push_back(step);
    } catch (const Unsure&) {
      undo();
    }
  }
  for (const auto& [id, x] : draw.values)
    if (x.grad && x.kind == Kind::real && !draw.program.leaves.count(id) && (!uses.count(id) || draw.chance(0.1)))
      draw.program.loss.push_back(id);
  draw.program.create_graph = draw.chance(0.2);
  return std::move(draw.program);
}

}  // namespace differential
