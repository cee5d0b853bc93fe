// How groups exchange what they found, between the attention and the output projection: shuffle, tokens over groups.
#pragma once
#include "tutti/nn/module.h"

#pragma GCC visibility push(default)
namespace tutti::nn {

/// Channel shuffle (ShuffleNet, Zhang et al. 2018): channels [G, w] read as [w, G], so that every later group of w
/// channels takes some from each group. x [.., G w] to [.., G w], channel w i + j to G j + i. ShapeError unless G
/// divides the channels.
Tensor shuffle_groups(const Tensor& x, int64_t groups);

struct TokensOverGroupsOptions {
  int64_t groups = 1;  ///< G
  int64_t width = 0;   ///< w, of one group's result
  bool bias = true;
};

/// At every position the G group vectors attend to one another, as if they were tokens, and what they find is added to
/// them: y = x + softmax(q k^T / sqrt(w)) v with q, k, v from one map w -> 3 w that all groups share. 3 (w^2 + w)
/// parameters; no other position is seen.
class TokensOverGroups : public Callable<TokensOverGroups> {
 public:
  explicit TokensOverGroups(TokensOverGroupsOptions options);  ///< ValueError unless groups and width are positive
  void children(Visitor& visit) override;
  Tensor forward(const Tensor& x) const;  ///< x [.., G w] to [.., G w]; ShapeError for another width
  Parameter weight;                       ///< [3, w, w]: q, k, v, each Xavier-uniform on its own
  Parameter bias;                         ///< [3 w]

 private:
  TokensOverGroupsOptions options_;
};

}  // namespace tutti::nn
#pragma GCC visibility pop
