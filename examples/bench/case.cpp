// One operation on certain sizes: its name, its work, its cost.
#include <fmt/format.h>

#include <memory>

#include "bench/operations.h"

namespace bench {
namespace {

using namespace tutti;

const Operation& operation(const Case& c) {
  const auto found = operations().find(c.op);
  if (found == operations().end()) {
    std::string known;
    for (const auto& [name, entry] : operations()) known += (known.empty() ? "" : ", ") + name;
    throw ValueError(fmt::format("op '{}' is unknown; there are {}", c.op, known));
  }
  const Operation& o = found->second;
  if (c.sizes.size() < o.sizes) throw ValueError(fmt::format("op {}: expected {}", c.op, o.usage));
  if (c.backward && !o.backward) throw ValueError(fmt::format("op {} has no gradient", c.op));
  return o;
}

}  // namespace

std::string text(const Case& c) {
  return fmt::format("{} {}{}{}", c.op, fmt::join(c.sizes, " "), c.transposed ? " --transposed" : "",
                     c.backward ? " --backward" : "");
}

std::function<void()> prepare(const Case& c) {
  auto work = std::make_shared<Work>(operation(c).make(c.sizes));
  if (c.transposed) {
    const no_grad off;
    for (Tensor& x : work->inputs)
      if (x.rank() >= 2) x = transpose(contiguous(transpose(x, -1, -2)), -1, -2);
  }
  if (!c.backward)
    return [work] {
      const no_grad off;
      work->function(work->inputs);
    };
  for (Tensor& x : work->inputs) x.requires_grad_();
  const Tensor dy = randn(work->function(work->inputs).shape());
  return [work, dy] { grad({work->function(work->inputs)}, work->inputs, {dy}); };
}

Cost cost(const Case& c) {
  const Operation& o = operation(c);
  return c.backward ? o.forward(c.sizes) + o.backward(c.sizes) : o.forward(c.sizes);
}

}  // namespace bench
