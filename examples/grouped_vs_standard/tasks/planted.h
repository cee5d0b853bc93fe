// The planted pair: three generated tasks that differ in two shifts. In one, what belongs together lies in the same
// group of channels; in the others it lies in different groups. They show that the comparison can find an effect of
// grouping in both directions.
#pragma once
#include "grouped_vs_standard/tasks/task.h"

namespace comparison {

/// 9 tokens of 60 channels, in 4 blocks of 15; token 0 asks, tokens 1 to 8 are items. For each block b: 8 distinct
/// codes in [0, 256), one per item. Item t, block b: channels 0-7 the code's bits (lowest first) as +-1, 8 a value
/// v[t, b] = +-1, 9-14 noise +-1. Token 0, block b: channels 0-7 the code of item j_b in block (b + sk) mod 4, with j_b
/// uniform over the items; channel 8 is 0; 9-14 noise. Label: 1 if v[j_0, sv] = +1. Only block 0's question decides.
///
/// Variants: "in" (sk = sv = 0), "across" (sk = sv = 1), "across_v" (sk = 0, sv = 1); followed by "/2", "/3", ... with
/// another set of test samples. The same draws in all three: they differ by the shifts alone. 2500 training samples a
/// seed by default, 4000 test samples. tokens 9, inputs 60, classes 2; x is float32 [N, 9, 60].
Task planted(const TaskSpec& spec);

}  // namespace comparison
