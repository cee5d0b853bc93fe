#include "grouped_vs_standard/tasks/arrhythmia.h"

#include "grouped_vs_standard/tasks/measurements.h"

namespace comparison {

Task arrhythmia(const TaskSpec& spec) {
  std::vector<int64_t> families(13, 22);
  families[0] = 15;
  return measurements_task(spec, {.file = "arrhythmia.csv.gz",
                                  .rows = 452,
                                  .classes = 13,
                                  .families = families,
                                  .split = {.test = 150, .stratified = true},
                                  .source = "arrhythmia: electrocardiograms (Guvenir et al. 1997), 452 patients, 279 "
                                            "measurements, UCI, CC BY 4.0 (GNU Octave's statistics package)"});
}

}  // namespace comparison
