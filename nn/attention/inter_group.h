// One path from all channels to every group, beside the groups' own maps.
#pragma once
#include "tutti/nn/module.h"

#pragma GCC visibility push(default)
namespace tutti::nn {

struct InterGroupOptions {
  int64_t in = 0;      ///< C, the channels that all groups read
  int64_t groups = 1;  ///< G
  int64_t width = 0;   ///< w, of one group's q (and of its k and its v)
};

/// q, k and v of group i become (W_i x_i + A x) / sqrt(2), with one A for all groups: 3 w C parameters. It lets a query
/// of one group meet a key that lies in another's channels, which mixing after the projection (shuffle, talking heads)
/// cannot repair. After Group-Transformer's inter-group paths (Park et al., COLING 2020). sqrt(2) keeps the variance of
/// a sum of two equals; a group's bias counts as part of W_i x_i.
class InterGroupPath : public Callable<InterGroupPath> {
 public:
  explicit InterGroupPath(InterGroupOptions options);  ///< ValueError unless all are positive
  void children(Visitor& visit) override;
  /// x [.., C] and what the groups made of it, grouped [.., 3 G w] (q of all groups, then k, then v), to [.., 3 G w].
  Tensor forward(const Tensor& x, const Tensor& grouped) const;
  Parameter weight;  ///< A [3, w, C]: Xavier-uniform, q's, k's and v's on their own

 private:
  InterGroupOptions options_;
};

}  // namespace tutti::nn
#pragma GCC visibility pop
