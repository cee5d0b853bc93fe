#include "grouped_vs_standard/tasks/recall.h"

#include <numeric>

#include "grouped_vs_standard/tasks/draws.h"
#include "grouped_vs_standard/tasks/options.h"
#include "tutti/core/error.h"
#include "tutti/ops/copy.h"
#include "tutti/ops/shape.h"

namespace comparison {

using namespace tutti;

namespace {

constexpr uint32_t task_number = 4;
constexpr int64_t columns = 1 + 2 * recall_pairs;

/// The first `k` of these numbers become a random choice of them, in random order.
void choose(Draws& draw, std::vector<int32_t>& from, int64_t k) {
  const auto n = static_cast<int64_t>(from.size());
  for (int64_t i = 0; i < k; ++i)
    std::swap(from[static_cast<size_t>(i)], from[static_cast<size_t>(i + draw.below(n - i))]);
}

Split generate(RandomKey key, int64_t length, int64_t n) {
  Draws draw(key);
  std::vector<int32_t> keys(recall_keys), places(static_cast<size_t>(length - 1)), x;
  std::iota(keys.begin(), keys.end(), 0);
  std::iota(places.begin(), places.end(), 1);
  std::vector<int64_t> y;
  for (int64_t i = 0; i < n; ++i) {
    choose(draw, keys, recall_pairs);
    choose(draw, places, recall_pairs);
    const auto asked = static_cast<size_t>(draw.below(recall_pairs));
    x.push_back(1 + keys[asked]);
    for (size_t p = 0; p < recall_pairs; ++p) {
      const int64_t value = draw.below(recall_values);
      if (p == asked) y.push_back(value);
      x.push_back(places[p]);
      x.push_back(static_cast<int32_t>(1 + recall_keys + keys[p] * recall_values + value));
    }
  }
  return {Tensor::from(x, {n, columns}), Tensor::from(y, {n})};
}

Tensor sequences(const Tensor& compact, int64_t length) {
  const Tensor dense = to(contiguous(compact), cpu);
  const auto* x = dense.data<int32_t>();
  const int64_t n = dense.size(0);
  std::vector<int64_t> tokens(static_cast<size_t>(n * length));
  for (int64_t i = 0; i < n; ++i, x += columns) {
    int64_t* sequence = tokens.data() + i * length;
    sequence[0] = x[0];
    for (int64_t p = 0; p < recall_pairs; ++p) sequence[x[1 + 2 * p]] = x[2 + 2 * p];
  }
  return Tensor::from(tokens, {n, length}, compact.device());
}

}  // namespace

Task recall(const TaskSpec& spec) {
  check(spec, {.length = true});
  Task task{.spec = spec, .classes = recall_values, .symbols = 1 + recall_keys + recall_keys * recall_values};
  if (spec.train == 0) task.spec.train = 20000;
  if (spec.length == 0) task.spec.length = 64;
  const int64_t length = task.tokens = task.spec.length;
  if (length <= recall_pairs || length > 65536)
    throw ValueError(message("task recall: length is ", length, "; expected 17 to 65536"));
  const Split test = generate(part_key(task_number, spec.validation ? Part::validation : Part::test), length, 2000);
  task.sample = [n = task.spec.train, length, test](uint64_t seed) {
    return Sample{generate(part_key(task_number, Part::train, seed), length, n), test};
  };
  task.tokens_of = [length](const Tensor& x, bool) { return sequences(x, length); };
  task.source = message("associative recall, generated: ", task.spec.train,
                        " training samples a seed, 2000 test samples, 16 pairs of 32 keys and 8 values among ", length,
                        " tokens");
  return task;
}

}  // namespace comparison
