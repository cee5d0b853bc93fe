#include "grouped_vs_standard/claims/width_sweep.h"

namespace comparison {

Claim c29();
Claim c29() {
  return {29, "C >= 512: use 8 to 16 groups.",
          "Accuracy for G = 1 (standard), 2, 4, 8, 16 at C = 512, one layer, equal parameters, three seeds of 200 "
          "steps. At the limit of two cores: shown, and by the protocol not decided.",
          [](Lab& lab) {
            Finding f = judge_band(lab, {512}, 8, 16);
            if (!lab.complete()) return f;
            f.why = "By the rule of C27 the verdict would be: " + f.verdict + ". " + f.why;
            f.verdict = "inconclusive here";
            return f;
          }};
}

}  // namespace comparison
