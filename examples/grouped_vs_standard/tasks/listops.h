// ListOps (Nangia and Bowman 2018, arXiv 1804.06028): nested lists of digits to be evaluated.
#pragma once
#include "grouped_vs_standard/tasks/task.h"

namespace comparison {

/// The symbols of an expression such as [MAX 2 9 [MIN 4 7 ] 0 ].
enum ListOpsSymbol : uint8_t {
  list_pad = 0,
  list_digit = 1 /* to 10: the digits */,
  list_max = 11,
  list_min,
  list_med,
  list_sum,
  list_end,
  list_symbols
};

/// The value of an expression, 0 to 9: MAX, MIN, MED (median; of an even number the mean of the middle two, rounded
/// down) and SM (sum modulo 10). Padding after it is ignored. ValueError unless it is exactly one expression.
int64_t listops_value(const std::vector<uint8_t>& symbols);

/// Trees as the authors draw them: a node is an operator with probability 1/4, which has 2 to 5 arguments, else a
/// digit; at most `depth` operators deep (the variant, a number from 1 to 20; 10 by default). Kept are those with more
/// than length/4 and at most `length` symbols (128 by default, from 8 to 2048); the rest of the tokens is padding,
/// symbol 0. tokens = length, symbols 16, classes 10; x is uint8 [N, length].
///
/// 20000 training samples by default, other ones for every seed; 2000 test samples. In Long Range Arena, whose
/// expressions are longer (500 to 2000), a transformer reaches 36.4 %, with local attention 15.8.
Task listops(const TaskSpec& spec);

}  // namespace comparison
