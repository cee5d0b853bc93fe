#include "grouped_vs_standard/claims/width_sweep.h"

namespace comparison {

Claim c27();
Claim c27() {
  return {27, "C <= 256: use 2 to 4 groups.",
          "Accuracy for G = 1 (standard), 2, 4, 8, 16 at C = 64, 128 and 256, one layer, equal parameters, ten seeds "
          "(five at 256). "
          "Holds if the best in the band is better than the best outside at some width and worse at none; refuted the "
          "other way round; else undecided.",
          [](Lab& lab) {
            return judge_band(lab, {64, 128, 256}, 2, 4);
          }};
}

}  // namespace comparison
