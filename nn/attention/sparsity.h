// Sparse attention by blocks: which blocks of keys a block of queries visits, in the usual patterns.
#pragma once
#include "tutti/ops/attention.h"

#pragma GCC visibility push(default)
namespace tutti::nn {

/// With i the block of queries, j that of keys, both of n = ceil(T / block), and w = window, block i visits block j if
///   block           i == j: block-diagonal (Qiu et al. 2020, "Blockwise self-attention", without permutations);
///   strided         |i - j| <= w, or (i - j) mod stride == 0: the local and the column half of the strided pattern in
///                   one head (Child et al. 2019, "Generating long sequences with sparse transformers", section 4.2);
///   global_window   |i - j| <= w, or i < global, or j < global: the first blocks see all and are seen by all (Beltagy
///                   et al. 2020, "Longformer", section 3.1);
///   big_bird        the same, and `random` blocks more for each i, drawn without repetition from those that it does
///                   not visit yet (Zaheer et al. 2020, "Big bird", section 2);
///   sliding_window  is exact to the token instead, as AttentionOptions::window: |query - key| < window;
///   dense           everything.
/// Every block visits itself. All of them look both ways: `causal` hides what comes later besides.
enum class Sparsity { dense, sliding_window, block, strided, global_window, big_bird };

/// A pattern, and its numbers in blocks unless said otherwise. What a pattern does not name above has no effect on it.
struct SparsityOptions {
  Sparsity pattern = Sparsity::dense;
  int64_t block = 64;  ///< tokens in a block; multiples of 64 waste no work
  static constexpr int64_t unset = -1;
  /// Blocks on each side, 0: its own only, unset: 1. Of sliding_window: tokens, 1: itself only; it must be set.
  int64_t window = unset;
  int64_t stride = 4;  ///< the distance of the blocks that strided visits
  int64_t global = 1;  ///< first blocks that see all and are seen by all
  int64_t random = 1;  ///< random blocks for each block of queries
  uint64_t seed = 0;   ///< of the random blocks: the same numbers, the same blocks, on every machine
};

/// ValueError "GroupedMultiHeadAttention: sparsity.block is 0; it must be at least 1", for the numbers that the pattern
/// reads; also if sliding_window has no window.
void check_sparsity(const char* layer, const SparsityOptions& options);

/// bool [n, n] for `tokens` queries and keys; undefined for dense and sliding_window, which need none. ValueError on a
/// number that does not fit, or if tokens is negative.
Tensor sparsity_layout(const SparsityOptions& options, int64_t tokens, Device device = default_device());

/// The options of a call of a layer with this pattern, over `tokens` queries and keys: its layout, or the narrower of
/// its window and the call's. ValueError as check_sparsity's, or if the call brings a layout or block of its own
/// besides.
AttentionOptions with_sparsity(const char* layer, const SparsityOptions& options, int64_t tokens, Device device,
                               AttentionOptions call);

}  // namespace tutti::nn
#pragma GCC visibility pop
