// Controls: layers that save the parameters of q, k and v in other ways than by groups. If one of them gains as much as
// grouping does, the gain is not grouping's.
#pragma once
#include "tutti/tutti.h"

namespace examples {

struct LowRankAttentionOptions {
  int64_t embed_dim = 0, num_heads = 1;
  int64_t rank = 0;  ///< r: q = U (V x) with V [r, C], U [C, r]; C / (2 G) has as many weights as G groups
};

/// Standard attention whose q, k and v maps are products of two thin matrices, 2 C r weights each instead of C^2; dense
/// output projection. x [B, T, C] to the same shape.
class LowRankAttention : public tutti::nn::Callable<LowRankAttention> {
 public:
  explicit LowRankAttention(LowRankAttentionOptions options);
  void children(tutti::nn::Visitor& visit) override;
  tutti::Tensor forward(const tutti::Tensor& x);

  tutti::nn::Linear down;       ///< C to 3 r, no bias
  tutti::nn::GroupedLinear up;  ///< r to C for each of q, k, v
  tutti::nn::Linear out;

 private:
  LowRankAttentionOptions options_;
};

struct RandomMaskAttentionOptions {
  int64_t embed_dim = 0, num_heads = 1;
  int64_t groups = 4;  ///< every row of the q, k and v matrices keeps C / groups weights, at random places
};

/// Standard attention whose q, k and v matrices are sparse with density 1 / groups like the grouped layer's, but
/// without its structure: every output channel reads C / groups input channels of its own. Xavier for that many inputs.
class RandomMaskAttention : public tutti::nn::Callable<RandomMaskAttention> {
 public:
  explicit RandomMaskAttention(RandomMaskAttentionOptions options);
  void children(tutti::nn::Visitor& visit) override;
  tutti::Tensor forward(const tutti::Tensor& x);
  /// Weights that count: those under the mask, the biases and the output projection.
  int64_t effective_parameters() const;

  tutti::nn::Parameter weight, bias;  ///< [3 C, C], [3 C]
  tutti::nn::Buffer mask;             ///< [3 C, C] of 0 and 1
  tutti::nn::Linear out;

 private:
  RandomMaskAttentionOptions options_;
};

}  // namespace examples
