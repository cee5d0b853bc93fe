// That the comparison sees what it is there for: operations that are wrong by little, or in one case only.
#include <map>

#include "differential/draw.h"
#include "differential/run.h"
#include "support/catch.h"
#include "tutti/tutti.h"

using namespace differential;
using namespace tutti;

namespace {

/// The first program in which the operation, done this way instead, is found to be wrong, made small. One where it is
/// only just beyond what rounding may do cannot be made small, as with fewer steps the noise is another: then the next.
Program found(const std::string& name, Tensors (*wrong)(const Library&, const Step&, const Tensors&)) {
  static std::map<const Operation*, Operation> kept;
  Program small;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    Program program = random_program(seed, 20, false);
    bool there = false;
    for (Step& step : program.steps) {
      if (step.operation->name != name || step.malformed) continue;
      Operation other = *step.operation;
      other.library = wrong;
      kept[step.operation] = other;
      step.operation = &kept[step.operation];
      there = true;
    }
    if (!there) continue;
    const auto failure = check(program);
    if (!failure) continue;
    small = shrunk(program, *failure);
    if (small.steps.size() <= 2) break;
  }
  return small;
}
void check_found(const std::string& name, Tensors (*wrong)(const Library&, const Step&, const Tensors&)) {
  const Program program = found(name, wrong);
  INFO(listing(program));
  REQUIRE(!program.steps.empty());
  CHECK(program.steps.size() <= 2);
  CHECK(std::string(program.steps.front().operation->name) == name);
}

}  // namespace

TEST_CASE("random programs see small errors") {
  // 2^-19 is 32 units in the last place of float32.
  check_found("exp",
              [](const Library&, const Step&, const Tensors& x) { return Tensors{mul(exp(x[0]), 1 + 0x1p-19)}; });
  // The right value, and a gradient off by 2^-13 (a gradient has been through more, so it may be further off).
  check_found("sin", [](const Library&, const Step&, const Tensors& x) {
    const Tensor y = sin(x[0]);
    return Tensors{add(y, mul(sub(y, y.detach()), 0x1p-13))};
  });
  // No gradient at all.
  check_found("tanh", [](const Library&, const Step&, const Tensors& x) { return Tensors{tanh(x[0].detach())}; });
  // Wrong only where there are two axes or more.
  check_found("log_softmax", [](const Library&, const Step& s, const Tensors& x) {
    return Tensors{log_softmax(x[0], x[0].rank() > 1 ? -1 : s.n[0])};
  });
  // The operand changed.
  check_found("square", [](const Library&, const Step&, const Tensors& x) {
    const no_grad off;
    if (x[0].numel() && x[0].is_contiguous()) fill_(x[0].detach(), 1);
    return Tensors{square(x[0])};
  });
  // Copied where it should be a view.
  check_found("permute", [](const Library&, const Step& s, const Tensors& x) {
    Dims axes;
    for (int64_t a : s.n) axes.push(a);
    return Tensors{clone(permute(x[0], axes))};
  });
}

TEST_CASE("random programs: the tape's gradients") {
  Tape tape(1);
  const differential::Number x = constant(0.75), y = constant(2);
  // f = x^y exp(x) / y + log(x) sqrt(y) + tanh(x y): derivatives by hand.
  const differential::Number f = power(x, y) * exp(x) / y + log(x) * sqrt(y) + tanh(x * y);
  const auto d = tape.gradients(f);
  const double t = std::tanh(1.5), e = std::exp(0.75);
  const double dx = 1.5 * e / 2 + 0.5625 * e / 2 + std::sqrt(2.0) / 0.75 + 2 * (1 - t * t);
  const double dy =
      0.5625 * std::log(0.75) * e / 2 - 0.5625 * e / 4 + std::log(0.75) / (2 * std::sqrt(2.0)) + 0.75 * (1 - t * t);
  CHECK(d[static_cast<size_t>(x.id)][0] == Approx(dx).epsilon(1e-14));
  CHECK(d[static_cast<size_t>(y.id)][0] == Approx(dy).epsilon(1e-14));
  // The other lanes are as far off as float32 would be.
  CHECK(spread(d[static_cast<size_t>(x.id)]) > 1e-8);
  CHECK(spread(d[static_cast<size_t>(x.id)]) < 1e-5);
  // Equal numbers of one origin are equal; those that rounding made so are not sure.
  CHECK(order(x, constant(0.75)) == 0);
  CHECK_THROWS_AS(order(exp(x), constant(e)), Unsure);
}
