// The article's printed code, kept as it is: one Linear per group for each of q, k and v, in a loop over slices, and a
// concatenation. The same function as nn::GroupedMultiHeadAttention, which needs neither slices nor copies.
#pragma once
#include "tutti/tutti.h"

namespace examples {

struct LoopedAttentionOptions {
  int64_t embed_dim = 0, num_heads = 1, groups = 4;
};

class LoopedAttention : public tutti::nn::Callable<LoopedAttention> {
 public:
  /// ValueError unless groups and num_heads divide embed_dim.
  explicit LoopedAttention(LoopedAttentionOptions options);
  void children(tutti::nn::Visitor& visit) override;
  tutti::Tensor forward(const tutti::Tensor& x);  ///< x [B, T, C] to the same shape, else ShapeError

  std::vector<tutti::nn::Linear> q, k, v;
  tutti::nn::Linear out;

 private:
  LoopedAttentionOptions options_;
};

}  // namespace examples
