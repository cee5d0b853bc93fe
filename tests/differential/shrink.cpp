// Failing programs made small: what is left out does not matter to the failure.
#include <algorithm>
#include <set>

#include "differential/run.h"

namespace differential {
namespace {

/// What kind of failure this is, so that a smaller program does not fail for another reason.
std::string kind_of(const std::string& failure) {
  std::string kind = failure.substr(0, failure.find(','));  // the dtype
  for (const char* word : {"gradient of", "throws", "requires_grad", "malformed", "bits", "shape", "at the end"})
    if (failure.find(word) != std::string::npos) kind += std::string(", ") + word;
  return kind;
}
bool fails(const Program& program, const std::string& kind) {
  try {
    const auto failure = check(program);
    return failure && kind_of(*failure) == kind;
  } catch (const Unsure&) {
    return false;
  }
}
bool used(const Program& program, int id) {
  if (std::count(program.loss.begin(), program.loss.end(), id)) return true;
  return std::any_of(program.steps.begin(), program.steps.end(),
                     [id](const Step& s) { return std::count(s.in.begin(), s.in.end(), id) > 0; });
}
/// Without a step: what it made is no longer there, or, if it is used, is a leaf of the same numbers.
Program without(Program program, size_t k) {
  const Step step = program.steps[k];
  std::optional<Truth> truth;
  for (int id : step.out) {
    if (!used(program, id)) continue;
    if (!truth) truth.emplace(program);
    const auto& y =
        truth->steps[k][static_cast<size_t>(std::find(step.out.begin(), step.out.end(), id) - step.out.begin())];
    Leaf leaf{y.kind, y.shape, {}, y.grad, {}};
    for (const Lanes& v : y.elements) leaf.values.push_back(static_cast<double>(static_cast<float>(v[0])));
    program.leaves[id] = leaf;
  }
  program.steps.erase(program.steps.begin() + static_cast<int64_t>(k));
  std::erase_if(program.leaves, [&](const auto& l) { return !used(program, l.first); });
  return program;
}

/// The loss taken from a step's operands instead of its results, and without the step.
Program earlier(Program program, size_t k) {
  const Step step = program.steps[k];
  const Truth truth(program);
  for (int id : step.in)
    if (id >= 0 && truth.last.at(id).kind == Kind::real && !std::count(program.loss.begin(), program.loss.end(), id))
      program.loss.push_back(id);
  std::erase_if(program.loss, [&](int id) { return std::count(step.out.begin(), step.out.end(), id) > 0; });
  return without(program, k);
}

}  // namespace

Program shrunk(Program program, const std::string& failure) {
  const std::string kind = kind_of(failure);
  const auto try_it = [&](const Program& smaller) {
    if (!fails(smaller, kind)) return false;
    program = smaller;
    return true;
  };
  for (bool again = true; again;) {
    again = false;
    for (size_t k = program.loss.size(); k-- > 0;) {
      Program smaller = program;
      smaller.loss.erase(smaller.loss.begin() + static_cast<int64_t>(k));
      again = try_it(smaller) || again;
    }
    for (size_t k = program.steps.size(); k-- > 0;)
      again = try_it(without(program, k)) || (k < program.steps.size() && try_it(earlier(program, k))) || again;
    for (const auto& [id, leaf] : std::map(program.leaves)) {
      Program smaller = program;
      smaller.leaves[id].grad = false;
      smaller.leaves[id].layout = {};
      if (leaf.grad || leaf.layout != tutti_test::Layout::contiguous) again = try_it(smaller) || again;
    }
    if (program.create_graph) {
      Program smaller = program;
      smaller.create_graph = false;
      again = try_it(smaller) || again;
    }
  }
  return program;
}

}  // namespace differential
