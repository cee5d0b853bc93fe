#include "grouped_vs_standard/claims/width_sweep.h"

namespace comparison {

Claim c29();
Claim c29() {
  return {29, "C >= 512: use 8 to 16 groups.",
          "Accuracy for G = 1 (standard), 2, 4, 8, 16 at C = 512 (three seeds: at the limit of two cores), one layer, "
          "equal parameters. Holds if the best in the band is "
          "better than the best outside at some width and worse at none; refuted the other way round.",
          [](Lab& lab) { return judge_band(lab, {512}, 8, 16, 3); }};
}

}  // namespace comparison
