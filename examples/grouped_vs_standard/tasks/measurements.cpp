#include "grouped_vs_standard/tasks/measurements.h"

#include <algorithm>
#include <numeric>

#include "grouped_vs_standard/tasks/options.h"
#include "grouped_vs_standard/tasks/table.h"
#include "tutti/tutti.h"

namespace comparison {

using namespace tutti;

Task measurements_task(const TaskSpec& spec, const Measurements& what) {
  check(spec, {.shuffled = true});
  const int64_t features = std::accumulate(what.families.begin(), what.families.end(), int64_t{0});
  DataTable table =
      read_table(what.file, {.rows = what.rows, .features = features + what.unused, .classes = what.classes});
  table.features = slice(table.features, 1, 0, features);
  if (spec.shuffled) table.features = index_select(table.features, 1, fixed_permutation(features));

  Task task{.spec = spec,
            .tokens = std::ssize(what.families),
            .inputs = *std::max_element(what.families.begin(), what.families.end()),
            .classes = what.classes,
            .source = what.source};
  task.spec.train = training_size(what.rows, spec, what.split);
  task.tokens_of = [](const Tensor& x, bool) { return x; };
  task.sample = [=, families = what.families, split = what.split](uint64_t seed) {
    Sample sample = samples_at(table.features, table.labels, random_rows(table.labels, spec, seed, split));
    const Scaling scaled = scaling_of(sample.train.x);
    for (Split* part : {&sample.train, &sample.test}) part->x = tokens_of_families(scaled(part->x), families);
    return sample;
  };
  return task;
}

}  // namespace comparison
