// Rotary positions: queries and keys are turned by their place in the sequence.
#pragma once
#include <cstdint>

#include "tutti/core/tensor.h"

#pragma GCC visibility push(default)
namespace tutti::nn {

/// How positions turn the channels of a head.
struct RotaryOptions {
  double theta = 10000;      ///< pair i of D/2 turns by theta^(-2 i / D) a token
  int64_t width = 0;         ///< D, the first channels of each head that turn (even); 0: all
  bool interleaved = false;  ///< pairs are (2 i, 2 i + 1), as in the paper, else (i, i + D/2), as in Llama's weights
};

/// ValueError naming the layer and the option that does not fit heads of `head_width` channels.
void check_rotary(const char* layer, const RotaryOptions& options, int64_t head_width);

/// x [.., T, H d] with its H heads turned by positions first, first + 1, ..: (a, b) becomes (a cos - b sin, b cos + a
/// sin) for each pair (Su et al. 2021). Angles are computed in float64.
Tensor rotate(const Tensor& x, int64_t num_heads, int64_t first, const RotaryOptions& options);

}  // namespace tutti::nn
#pragma GCC visibility pop
