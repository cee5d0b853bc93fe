#include "grouped_vs_standard/tasks/cells.h"

#include "grouped_vs_standard/tasks/measurements.h"

namespace comparison {

Task cells(const TaskSpec& spec) {
  return measurements_task(spec, {.file = "cells.csv.gz",
                                  .rows = 2019,
                                  .classes = 2,
                                  .families = {9, 9, 3, 7, 2, 7, 7, 6, 6},
                                  .unused = 1,  // the publication's own split
                                  .split = {.test = 1010},
                                  .source = "cells: segmentation in high-content microscopy (Hill et al. 2007), 2019 "
                                            "cells, 56 measurements, MIT licence (R package modeldata)"});
}

}  // namespace comparison
