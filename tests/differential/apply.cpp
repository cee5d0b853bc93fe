#include "differential/apply.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace differential {
namespace {

bool comparable(const Lanes& v) {
  const double size = std::abs(v[0]);
  if (!(size <= 1e5) || (size > 0 && size < 1e-12)) return false;
  return spread(v) <= 1e-4 * (size + 0.1);
}
Truth::Result result(const Plain& x) {
  Truth::Result r{x.kind, x.shape, x.grad, {}};
  for (int64_t i = 0; i < x.size(); ++i) r.elements.push_back(Tape::current().value(x[i]));
  return r;
}

}  // namespace

Plain plain_leaf(const Leaf& leaf) {
  // Where the elements lie matters to what is a view: axes in reverse order, or with room between them.
  using tutti_test::Layout;
  Shape room = leaf.shape;
  if (leaf.layout == Layout::sliced)
    for (int64_t& s : room) s = 2 * s + 3;
  if (leaf.layout == Layout::transposed) std::reverse(room.begin(), room.end());
  Plain x;
  x.kind = leaf.kind;
  x.shape = leaf.shape;
  x.memory = std::make_shared<Plain::Memory>();
  x.memory->cells.resize(static_cast<size_t>(count(room)));
  each(leaf.shape, [&](Index i) {
    const double v = leaf.values[x.at.size()];
    if (leaf.layout == Layout::sliced)
      for (size_t k = 0; k < i.size(); ++k) i[k] = k + 1 == i.size() ? 2 * i[k] + 1 : i[k] + 1;
    if (leaf.layout == Layout::transposed) std::reverse(i.begin(), i.end());
    x.at.push_back(flat(room, i));
    x.memory->cells[static_cast<size_t>(x.at.back())] = constant(v);
  });
  x.grad = x.memory->frozen = leaf.grad;
  return x;
}

void apply(const Step& step, std::map<int, Plain>& values) {
  if (step.malformed) return;
  Plains x;
  bool grad = false;
  for (int id : step.in) {
    x.push_back(id < 0 ? Plain{} : values.at(id));
    grad = grad || (x.back().grad && x.back().kind == Kind::real);
  }
  const auto trait = step.operation->trait;
  const bool records =
      grad && step.mode != Mode::no_grad && trait != Operation::writes && trait != Operation::no_gradient;
  Plains y = step.operation->plain(step, x);
  if (y.size() > step.out.size()) throw Unsure{};  // pieces without end
  for (Plain& p : y) {
    if (std::exchange(p.same, false)) {
      if (step.mode == Mode::no_grad) p.grad = false, p.cut = true;
      continue;
    }
    // The dtype "real" is the only one with gradients; what looks at numbers without their history never has one.
    const bool detached = p.cut && std::none_of(x.begin(), x.end(), [](const Plain& q) { return q.cut; });
    p.grad = records && p.kind == Kind::real && !detached;
    p.cut = p.cut || step.mode == Mode::no_grad;
    if (p.kind != Kind::boolean)
      for (int64_t i = 0; i < p.size(); ++i)
        if (!comparable(Tape::current().value(p[i]))) throw Unsure{};
  }
  if (records) {
    for (Plain& p : x)
      if (p.defined()) p.memory->frozen = true;
    for (Plain& p : y) p.memory->frozen = true;
  }
  for (size_t i = 0; i < y.size(); ++i) values[step.out[i]] = y[i];
}

Truth::Truth(const Program& program) : tape(program.seed) {
  std::map<int, Plain> values;
  for (const auto& [id, leaf] : program.leaves) values[id] = plain_leaf(leaf);
  const auto leaves = values;  // their numbers, before anything is written
  for (const Step& step : program.steps) {
    differential::apply(step, values);
    std::vector<Result> results;
    if (!step.malformed) {
      for (int id : step.out) results.push_back(result(values[id]));
      if (step.operation->trait == Operation::writes) results.push_back(result(values[step.in[0]]));
    }
    steps.push_back(std::move(results));
  }
  for (const auto& [id, x] : values) last[id] = result(x);
  Number loss = tape.constant(0);
  for (int id : program.loss)
    for (int64_t i = 0; i < values[id].size(); ++i) loss = loss + values[id][i] * constant(weight(id, i));
  const auto d = tape.gradients(loss);
  for (const auto& [id, x] : leaves) {
    if (!x.grad) continue;
    auto& g = gradients[id];
    for (int64_t i = 0; i < x.size(); ++i) g.push_back(d[static_cast<size_t>(x[i].id)]);
  }
}

}  // namespace differential
