// Which blocks of keys a block of queries visits.
#pragma once
#include <cstdint>

#pragma GCC visibility push(default)
namespace tutti::nn {

enum class Sparsity { dense, sliding_window, block, strided, global_window, big_bird };

/// A pattern, and its numbers in blocks unless said otherwise.
struct SparsityOptions {
  Sparsity pattern = Sparsity::dense;
  int64_t block = 64;  ///< tokens in a block
  int64_t window = 1;  ///< blocks on each side; of sliding_window: tokens, as AttentionOptions::window
  int64_t stride = 4;  ///< every stride-th block is seen by all (strided)
  int64_t global = 1;  ///< first blocks that see all and are seen by all (global_window, big_bird)
  int64_t random = 1;  ///< random blocks for each block of queries (big_bird)
  uint64_t seed = 0;   ///< of the random blocks
};

}  // namespace tutti::nn
#pragma GCC visibility pop
