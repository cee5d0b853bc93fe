#include "grouped_vs_standard/tasks/listops.h"

#include <algorithm>
#include <charconv>

#include "grouped_vs_standard/tasks/draws.h"
#include "grouped_vs_standard/tasks/options.h"
#include "tutti/core/error.h"
#include "tutti/ops/copy.h"

namespace comparison {

using namespace tutti;

namespace {

constexpr uint32_t task_number = 3;
using Symbols = std::vector<uint8_t>;

int64_t applied(uint8_t op, std::vector<int64_t> arguments) {
  std::sort(arguments.begin(), arguments.end());
  const size_t n = arguments.size();
  if (op == list_max) return arguments.back();
  if (op == list_min) return arguments.front();
  if (op == list_med) return (arguments[(n - 1) / 2] + arguments[n / 2]) / 2;
  int64_t sum = 0;
  for (int64_t a : arguments) sum += a;
  return sum % 10;
}

bool is_operator(uint8_t s) { return s >= list_max && s <= list_sum; }
bool is_digit(uint8_t s) { return s >= list_digit && s < list_digit + 10; }

int64_t value_at(const Symbols& s, size_t& place) {
  const auto symbol = [&](size_t i) { return i < s.size() ? s[i] : uint8_t{list_pad}; };
  const size_t begin = place;
  const uint8_t first = symbol(place++);
  if (is_digit(first)) return first - list_digit;
  if (!is_operator(first))
    throw ValueError(message("listops: symbol ", begin, " is ", int{first}, "; expected a digit or an operator"));
  std::vector<int64_t> arguments;
  while (symbol(place) != list_end) arguments.push_back(value_at(s, place));
  ++place;
  if (arguments.empty()) throw ValueError(message("listops: the list at symbol ", begin, " is empty"));
  return applied(first, arguments);
}

/// Appends a tree, and gives up (false) once there are more than `most` symbols.
bool append_tree(Draws& draw, int64_t depth, size_t most, Symbols& to) {
  if (depth == 0 || draw.below(4) != 0) {
    to.push_back(static_cast<uint8_t>(list_digit + draw.below(10)));
    return to.size() <= most;
  }
  to.push_back(static_cast<uint8_t>(list_max + draw.below(4)));
  for (int64_t n = 2 + draw.below(4); n > 0; --n)
    if (!append_tree(draw, depth - 1, most, to)) return false;
  to.push_back(list_end);
  return to.size() <= most;
}

Split generate(RandomKey key, int64_t depth, int64_t length, int64_t n) {
  Draws draw(key);
  const auto most = static_cast<size_t>(length);
  Symbols x;
  std::vector<int64_t> y;
  int64_t refused = 0;
  for (Symbols tree; static_cast<int64_t>(y.size()) < n; tree.clear()) {
    if (!append_tree(draw, depth, most, tree) || tree.size() <= most / 4) {
      if (++refused > (static_cast<int64_t>(y.size()) + 20) * 10000)
        throw ValueError(message("task listops: length is ", length, "; trees of depth ", depth,
                                 " hardly ever have more than ", most / 4, " symbols"));
      continue;
    }
    y.push_back(listops_value(tree));
    tree.resize(most, list_pad);
    x.insert(x.end(), tree.begin(), tree.end());
  }
  return {Tensor::from(x, {n, length}), Tensor::from(y, {n})};
}

int64_t depth_of(const TaskSpec& spec) {
  if (spec.variant.empty()) return 10;
  int64_t depth = 0;
  const char *begin = spec.variant.data(), *end = begin + spec.variant.size();
  const auto [stop, error] = std::from_chars(begin, end, depth);
  if (error != std::errc() || stop != end || depth < 1 || depth > 20)
    throw ValueError(message("task listops: variant '", spec.variant, "'; expected a depth from 1 to 20, or ''"));
  return depth;
}

}  // namespace

int64_t listops_value(const Symbols& symbols) {
  size_t place = 0;
  const int64_t value = value_at(symbols, place);
  for (; place < symbols.size(); ++place)
    if (symbols[place] != list_pad) throw ValueError(message("listops: the expression ends before symbol ", place));
  return value;
}

Task listops(const TaskSpec& spec) {
  check(spec, {.variants = {spec.variant}, .length = true});
  const int64_t depth = depth_of(spec);
  Task task{.spec = spec, .classes = 10, .symbols = list_symbols};
  if (spec.train == 0) task.spec.train = 20000;
  if (spec.length == 0) task.spec.length = 128;
  const int64_t length = task.tokens = task.spec.length;
  if (length < 8 || length > 2048)
    throw ValueError(message("task listops: length is ", length, "; expected 8 to 2048"));
  const Split test =
      generate(part_key(task_number, spec.validation ? Part::validation : Part::test), depth, length, 2000);
  task.sample = [n = task.spec.train, depth, length, test](uint64_t seed) {
    return Sample{generate(part_key(task_number, Part::train, seed), depth, length, n), test};
  };
  task.tokens_of = [](const Tensor& x, bool) { return to(x, DType::int64); };
  task.source = message("ListOps (Nangia and Bowman 2018), generated: ", task.spec.train,
                        " training samples a seed, 2000 test samples, up to ", length, " symbols, up to ", depth,
                        " operators deep, 10 classes");
  return task;
}

}  // namespace comparison
