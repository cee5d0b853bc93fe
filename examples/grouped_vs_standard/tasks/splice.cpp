#include "grouped_vs_standard/tasks/splice.h"

#include "grouped_vs_standard/tasks/options.h"
#include "grouped_vs_standard/tasks/rows.h"
#include "grouped_vs_standard/tasks/table.h"
#include "tutti/tutti.h"

namespace comparison {

using namespace tutti;

Task splice(const TaskSpec& spec) {
  check(spec, {.shuffled = true});
  const RowsOptions split{.test = 1186, .train = 400};
  const DataTable table = read_table("splice.csv.gz", {.rows = 3186, .features = 60, .classes = 3});
  Tensor letters = to(table.features, DType::int64);
  if (spec.shuffled) letters = index_select(letters, 1, fixed_permutation(60));

  Task task{.spec = spec, .tokens = 60, .classes = 3, .symbols = 4};
  task.spec.train = training_size(3186, spec, split);
  task.source =
      "splice: DNA splice junctions of primates (Genbank 64.1, StatLog's version), 3186 sequences of 60, UCI, "
      "CC BY 4.0 (R package mlbench)";
  task.tokens_of = [](const Tensor& x, bool) { return x; };
  task.sample = [=, labels = table.labels](uint64_t seed) {
    return samples_at(letters, labels, random_rows(labels, spec, seed, split));
  };
  return task;
}

}  // namespace comparison
