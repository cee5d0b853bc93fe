// Associative recall: which value came with this key, somewhere in a long sequence?
#pragma once
#include "grouped_vs_standard/tasks/task.h"

namespace comparison {

inline constexpr int64_t recall_keys = 32, recall_values = 8, recall_pairs = 16;

/// Token 0 asks for a key (symbols 1 to 32). Of the other length - 1 places 16, drawn at random, hold a pair of a key
/// and a value, one symbol for each of the 32 x 8 pairs (33 + 8 key + value); the rest is filler, symbol 0. The keys of
/// a sample are distinct, the values are independent and uniform, and the label is the value of the key that is asked
/// for. It may lie anywhere, so only attention over the whole length finds it; one layer can.
///
/// length is 64 by default, from 17 to 65536; tokens = length, symbols 289, classes 8. 20000 training samples by
/// default, other ones for every seed; 2000 test samples. x is int32 [N, 33]: the question, then place and symbol of
/// each pair. Guessing scores 1/8; a bag of the values present, about .26.
Task recall(const TaskSpec& spec);

}  // namespace comparison
