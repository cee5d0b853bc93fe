#include "grouped_vs_standard/tasks/digits.h"

#include "grouped_vs_standard/tasks/options.h"
#include "grouped_vs_standard/tasks/rows.h"
#include "grouped_vs_standard/tasks/table.h"
#include "tutti/tutti.h"

namespace comparison {

using namespace tutti;

Task digits(const TaskSpec& spec) {
  check(spec, {.patch = true, .shuffled = true});
  const RowsOptions split{.test = 360};
  const int64_t p = spec.patch == 0 ? 2 : spec.patch;
  if (p != 1 && p != 2 && p != 4)
    throw ValueError(
        message("task ", spec.name, ": patch is ", spec.patch, "; expected 1, 2 or 4 (images of 8x8 pixels)"));
  const DataTable table = read_table("digits.csv.gz", {.rows = 1797, .features = 64, .classes = 10, .header = false});
  Tensor pixels = to(table.features / 16.0, DType::float32);
  if (spec.shuffled) pixels = index_select(pixels, 1, fixed_permutation(64));

  Task task{.spec = spec, .tokens = (8 / p) * (8 / p), .inputs = p * p, .classes = 10};
  task.spec.train = training_size(1797, spec, split);
  task.spec.patch = p;
  task.source = "digits: handwritten digits of 8x8 pixels (Alpaydin and Kaynak 1998), 1797 images, UCI, CC BY 4.0";
  task.tokens_of = [p](const Tensor& x, bool) {
    const int64_t n = 8 / p;
    return reshape(permute(reshape(x, {-1, n, p, n, p}), {0, 1, 3, 2, 4}), {-1, n * n, p * p});
  };
  task.sample = [=, labels = table.labels](uint64_t seed) {
    return samples_at(pixels, labels, rows_before_last(labels, spec, seed, split));
  };
  return task;
}

}  // namespace comparison
