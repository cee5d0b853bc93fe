// DNA splice junctions: 60 nucleotides, is there a boundary between exon and intron in the middle?
#pragma once
#include "grouped_vs_standard/tasks/task.h"

namespace comparison {

/// 3186 sequences of primates; classes exon-intron (767), intron-exon (765), neither (1654). 400 to train on (there are
/// up to 2000), 1186 to test on. Tokens are the nucleotides A, C, G, T as 0 to 3: x is int64 [N, 60]. 125 sequences
/// occur more than once (310 rows), so that about 2 % of the test sequences are also training sequences, for all arms
/// alike.
Task splice(const TaskSpec& spec);

}  // namespace comparison
