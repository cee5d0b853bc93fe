#include "grouped_vs_standard/claims/width_sweep.h"

namespace comparison {

Claim c28();
Claim c28() {
  return {28, "C from 256 to 512: use 4 to 8 groups.",
          "Accuracy for G = 1 (standard), 2, 4, 8, 16 at C = 384, one layer, equal parameters, five seeds of 200 "
          "steps. Holds if the best in the band is better than the best outside at some width and worse at none; "
          "refuted the other way round; else undecided.",
          [](Lab& lab) { return judge_band(lab, {384}, 4, 8); }};
}

}  // namespace comparison
